// graphile-worker, tuned: a local queue of 500, and completions sent together.
import { createRequire } from "module";
import fs from "fs";
import readline from "readline";

const load = createRequire(process.env.BENCH_MODULES + "/");
const { run, makeWorkerUtils, runMigrations } = load("graphile-worker");
const { Pool } = load("pg");
const url = process.env.BENCH_URL;
const [, , verb, argument] = process.argv;
const wanted = JSON.parse(argument);
const AT_ONCE = 10000;

const now = () => (performance.timeOrigin + performance.now()) / 1000;
const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const say = (answer) => console.log(JSON.stringify(answer));
let file;
const mark = ({ number, stamp }) => {
  const at = now();
  file ??= fs.openSync(process.env.BENCH_MARKS, "a");
  fs.writeSync(file, `${number} ${stamp.toFixed(6)} ${at.toFixed(6)}\n`);
};

const verbs = {
  async bulk(utils, { count, kind = "noop", at = null }) {
    const started = now();
    for (let first = 0; first < count; first += AT_ONCE) {
      const stamp = at ?? now();
      const jobs = Array.from({ length: Math.min(AT_ONCE, count - first) }, (_, index) => ({
        identifier: kind,
        payload: { number: first + index, stamp },
        ...(at === null ? {} : { runAt: new Date(at * 1000) }),
      }));
      await utils.addJobs(jobs);
    }
    return { jobs: count, seconds: now() - started };
  },
  async single(utils, { callers, seconds, most }) {
    const started = now();
    let done = 0;
    const call = async (caller) => {
      for (let number = caller; number < most; number += callers) {
        await utils.addJob("noop", { number, stamp: now() });
        done += 1;
        if (now() - started > seconds) break;
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
    return { jobs: done, seconds: now() - started };
  },
  async paced(utils, { count, gap }) {
    let following = now();
    for (let number = 0; number < count; number += 1) {
      await utils.addJob("noop", { number, stamp: now() });
      following += gap;
      await sleep(Math.max(0, following - now()));
    }
    return { jobs: count };
  },
};

if (verb === "setup") {
  await runMigrations({ connectionString: url });
  say({ left: "SELECT count(*) FROM graphile_worker._private_jobs" });
  process.exit(0);
} else if (verb === "work") {
  const { concurrency } = wanted;
  console.log("ready");
  await new Promise((go) => readline.createInterface({ input: process.stdin }).once("line", go));
  await run({
    connectionString: url,
    concurrency,
    preset: {
      worker: {
        localQueue: { size: Math.max(500, 2 * concurrency) },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        maxPoolSize: 20,
      },
    },
    taskList: { noop: async (payload) => mark(payload), nap: async (payload) => (await sleep(0.05), mark(payload)) },
  });
} else {
  const utils = await makeWorkerUtils({ pgPool: new Pool({ connectionString: url, max: 16 }) });
  say(await verbs[verb](utils, wanted));
  process.exit(0);
}
