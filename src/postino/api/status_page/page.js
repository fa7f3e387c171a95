"use strict";
const find = (id) => document.getElementById(id);
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  sessionStorage.setItem("key", given);
  history.replaceState(null, "", location.pathname); // the key stays out of bookmarks and screenshots
}
const sandbox = document.body.dataset.sandbox;
if (/^https?:/.test(sandbox)) {
  find("feed").href = sandbox;
  find("feed").hidden = false;
}

const element = (tag, text, name) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
};

function row(post) {
  const line = document.createElement("tr");
  const text = element("td", post.text);
  const trouble = post.status === "published" ? null : post.last_error || Object.values(post.reasons)[0];
  if (trouble) text.append(element("small", trouble));
  const account = document.createElement("td");
  const link = /^https?:/.test(post.url || "") ? element("a", post.account) : element("span", post.account);
  if (link.tagName === "A") link.href = post.url;
  account.append(link);
  const when = new Date(post.published_at || post.run_at || post.scheduled_at);
  const status = document.createElement("td");
  status.append(element("span", post.status, `status ${post.status}`));
  line.append(status, account, element("td", when.toLocaleString()), text);
  return line;
}

function show(posts) {
  find("posts").hidden = posts.length === 0;
  find("posts").tBodies[0].replaceChildren(...posts.map(row));
  say(posts.length ? "" : "Nothing has been posted yet. Try: postino post \"Hello\" --to bluesky");
}

function say(words) {
  if (find("said").textContent !== words) find("said").textContent = words;
}

function askForKey(words) {
  sessionStorage.removeItem("key");
  find("door").hidden = false;
  find("posts").hidden = true;
  say(words);
}

async function look() {
  const key = sessionStorage.getItem("key");
  try {
    const headers = key ? { Authorization: `Bearer ${key}` } : {}; // without one, the cookie of who is signed in
    const answer = await fetch("/v1/posts?limit=20", { headers });
    if (answer.status === 401 && key) return askForKey("That is not a key of this Postino.");
    if (answer.status === 401) return askForKey("It takes the API key to see the posts. `postino up` shows a link that has it.");
    const told = await answer.json();
    answer.ok ? show(told.data) : say(told.detail);
  } catch {
    say("Postino does not answer. Looking again …");
  }
}

find("door").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", find("key").value.trim());
  find("door").hidden = true;
  look();
});
look();
setInterval(() => { if (!document.hidden && find("door").hidden) look(); }, 1500);
