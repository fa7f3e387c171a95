-- Why a process cannot write what it sends to its state directory. A restored backup may then go unnoticed.
ALTER TABLE postino.witnesses ADD COLUMN trouble text;
