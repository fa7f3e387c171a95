"use strict";
const find = (id) => document.getElementById(id);
const keyInUrl = new URLSearchParams(location.hash.slice(1)).get("key");
if (keyInUrl) {
  sessionStorage.setItem("key", keyInUrl);
  history.replaceState(null, "", location.pathname); // the key stays out of bookmarks and screenshots
}
const sandbox = document.body.dataset.sandbox;
if (/^https?:/.test(sandbox)) {
  find("feed").href = sandbox;
  find("feed").hidden = false;
}

const element = (tag, text, name) => {
  const created = document.createElement(tag);
  created.textContent = text;
  if (name) created.className = name;
  return created;
};

function row(post) {
  const line = document.createElement("tr");
  const text = element("td", post.text);
  const problem = post.status === "published" ? null : post.last_error || Object.values(post.reasons)[0];
  if (problem) text.append(element("small", problem));
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

function showPosts(posts) {
  find("posts").hidden = posts.length === 0;
  find("posts").tBodies[0].replaceChildren(...posts.map(row));
  showMessage(posts.length ? "" : "There are no posts yet. Try: postino post \"Hello\" --to bluesky");
}

function showMessage(text) {
  if (find("message").textContent !== text) find("message").textContent = text;
}

function askForKey(text) {
  sessionStorage.removeItem("key");
  find("key-form").hidden = false;
  find("posts").hidden = true;
  showMessage(text);
}

async function load() {
  const key = sessionStorage.getItem("key");
  try {
    const headers = key ? { Authorization: `Bearer ${key}` } : {}; // without a key the session cookie is sent
    const response = await fetch("/v1/posts?limit=20", { headers });
    if (response.status === 401 && key) return askForKey("This API key is not valid here.");
    if (response.status === 401) return askForKey("Enter the API key to see the posts. `postino up` shows a link that contains it.");
    const body = await response.json();
    response.ok ? showPosts(body.data) : showMessage(body.detail);
  } catch {
    showMessage("Postino does not respond. Trying again …");
  }
}

find("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("key", find("key").value.trim());
  find("key-form").hidden = true;
  load();
});
load();
setInterval(() => { if (!document.hidden && find("key-form").hidden) load(); }, 1500);
