
"use strict";
const EVERY = 1000;
const SHOWN_AT_ONCE = 100;
const $ = (id) => document.getElementById(id);
const networks = new Map();
let kinds = new Map();
let posts = [];
let epoch = 0;
let last = 0;
let shown = SHOWN_AT_ONCE;
let only = null;
let unseen = 0;
let shownFaults = "";

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

async function request(path, options) {
  const response = await fetch(path, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail || body.error || `The sandbox responded with status ${response.status}.`);
  return body;
}

const post = (path, body, headers = {}) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });

// Cards

function badge(network) {
  const space = "http://www.w3.org/2000/svg";
  const icon = document.createElementNS(space, "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", network.icon);
  icon.append(path);
  const round = make("span", { className: "badge", ariaHidden: "true" }, icon);
  round.style.setProperty("--colour", network.colour);
  return round;
}

function picture(media) {
  if (!media.url.startsWith("/_sandbox/media/")) {
    const known = /^https?:/.test(media.url);
    return make("a", { textContent: media.url, rel: "noopener noreferrer", target: "_blank", ...(known && { href: media.url }) });
  }
  if (media.mime.startsWith("video/")) {
    return make("video", { src: media.url, controls: true, muted: true, preload: "metadata", ariaLabel: media.alt || "film" });
  }
  return make("img", { src: media.url, alt: media.alt || "", loading: "lazy" });
}

function card(entry, fresh) {
  const network = networks.get(entry.network);
  const when = make("time", { dateTime: entry.published_at, title: new Date(entry.published_at).toLocaleString() });
  const who = make("div", { className: "who" }, make("strong", { textContent: entry.account }), make("span", { textContent: network.title }));
  const head = make("div", { className: "head" }, badge(network), who);
  if (entry.kind !== "post") head.append(make("span", { className: "kind", textContent: entry.kind }));
  head.append(when);
  const article = make("article", { className: fresh ? "fresh" : "", tabIndex: 0 }, head);
  article.style.setProperty("--colour", network.colour);
  if (entry.reply_to) article.append(make("p", { className: "reply", textContent: `↳ in reply to ${entry.reply_to}` }));
  if (entry.title) article.append(make("p", { className: "title", textContent: entry.title }));
  if (entry.text) article.append(make("p", { className: "text", dir: "auto", textContent: entry.text }));
  if (entry.media.length) article.append(make("div", { className: "media" }, ...entry.media.map(picture)));
  article.append(make("code", { className: "id", textContent: entry.remote_id }));
  return article;
}

function ago(instant) {
  const seconds = Math.max(0, (Date.now() - new Date(instant)) / 1000);
  if (seconds < 10) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(instant).toLocaleDateString();
}

function tellTimes() {
  for (const time of document.querySelectorAll("time")) {
    const text = ago(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

// The feed

const wanted = () => (only ? posts.filter((entry) => entry.network === only) : posts);

function drawAll() {
  const all = wanted();
  $("feed").replaceChildren(...all.slice(-shown).reverse().map((entry) => card(entry, false)));
  drawRest(all);
}

function drawRest(all) {
  $("empty").hidden = posts.length > 0;
  $("older").hidden = all.length <= shown;
  const many = posts.length === 1 ? "1 thing published" : `${posts.length.toLocaleString()} things published`;
  $("summary").textContent = posts.length ? many : "Simulated networks, with faults on demand";
  drawFilters();
  tellTimes();
}

function add(fresh) {
  posts.push(...fresh);
  const seen = fresh.filter((entry) => !only || entry.network === only);
  const away = window.scrollY > 80;
  const before = document.documentElement.scrollHeight;
  if (seen.length > shown) return drawAll();
  shown += seen.length;
  for (const entry of seen) $("feed").prepend(card(entry, true));
  drawRest(wanted());
  if (away && seen.length) {
    window.scrollBy(0, document.documentElement.scrollHeight - before);
    unseen += seen.length;
    $("news").textContent = `↑ ${unseen} new`;
    $("news").hidden = false;
  }
}

function drawFilters() {
  const counts = new Map();
  for (const entry of posts) counts.set(entry.network, (counts.get(entry.network) || 0) + 1);
  const content = JSON.stringify([...counts, only]);
  if ($("filters").dataset.content === content) return;
  const focused = document.activeElement?.dataset.network;
  $("filters").dataset.content = content;
  $("filters").replaceChildren(...[...counts].sort().map(([name, count]) => filter(networks.get(name), count)));
  if (focused) $("filters").querySelector(`[data-network="${focused}"]`)?.focus();
}

function filter(network, count) {
  const chip = make("button", { type: "button", className: "chip", ariaPressed: String(only === network.network) });
  chip.append(badge(network), network.title, make("b", { textContent: count.toLocaleString() }));
  chip.dataset.network = network.network;
  chip.style.setProperty("--colour", network.colour);
  chip.onclick = () => {
    only = only === network.network ? null : network.network;
    shown = SHOWN_AT_ONCE;
    drawAll();
  };
  return chip;
}

// Faults

function drawFaults(faults) {
  const content = JSON.stringify(faults);
  if (content === shownFaults) return;
  shownFaults = content;
  $("calm").hidden = faults.length > 0;
  $("faults").replaceChildren(...faults.map(faultItem));
}

function faultItem(fault) {
  const where = fault.network === "*" ? "every network" : networks.get(fault.network).title;
  const often = fault.rate === null ? `${fault.times} more` : `${Math.round(fault.rate * 1000) / 10} % of calls`;
  const params = Object.entries(fault.params).map(([name, value]) => `${name} ${value.max === undefined ? value : `${value.min}–${value.max}`}`);
  const place = [where, fault.endpoint, fault.account, often, ...params].filter(Boolean).join(" · ");
  const remove = make("button", { type: "button", textContent: "×", title: "Remove", ariaLabel: `Remove ${fault.fault}` });
  remove.onclick = async () => {
    await request(`/_sandbox/faults/${fault.id}`, { method: "DELETE" }).catch(() => {});
    await look();
  };
  return make("li", {}, make("div", {}, make("strong", { textContent: fault.fault }), make("br"), place), remove);
}

const options = (pairs) => pairs.map(([value, text]) => make("option", { value, textContent: text }));

function fill(select, pairs) {
  const before = select.value;
  select.replaceChildren(...options(pairs));
  if (pairs.some(([value]) => value === before)) select.value = before;
}

function fillForm() {
  const form = $("form");
  const chosen = [...networks.values()].filter((it) => ["*", it.network].includes(form.network.value));
  const endpoints = form.network.value === "*" ? [] : chosen[0].endpoints;
  fill(form.endpoint, [["", "wherever it can be"], ...endpoints.map((it) => [it.name, it.visible ? `${it.name} (visible)` : it.name])]);
  const reached = chosen.flatMap((it) => it.endpoints).filter((it) => !form.endpoint.value || it.name === form.endpoint.value);
  const possible = new Set(reached.flatMap((it) => it.faults));
  fill(form.fault, [...kinds.keys()].filter((name) => possible.has(name)).map((name) => [name, name]));
  const kind = kinds.get(form.fault.value);
  $("meaning").textContent = kind.meaning.replaceAll("`", "");
  $("seconds").hidden = !kind.params.includes("seconds");
  const times = form.mode.value === "times";
  $("amount-name").textContent = times ? "Times" : "Per cent";
  Object.assign(form.amount, times ? { min: 1, max: 1000000, step: 1 } : { min: 0.1, max: 100, step: "any" });
}

$("form").oninput = fillForm;
$("form").onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const fault = { network: form.network.value, fault: form.fault.value };
  if (form.endpoint.value) fault.endpoint = form.endpoint.value;
  if (form.mode.value === "times") fault.times = Number(form.amount.value);
  else fault.rate = Number(form.amount.value) / 100;
  if (!$("seconds").hidden && form.seconds.value !== "") fault.params = { seconds: Number(form.seconds.value) };
  try {
    await post("/_sandbox/faults", fault);
    $("refusal").hidden = true;
    await look();
  } catch (error) {
    $("refusal").textContent = error.message;
    $("refusal").hidden = false;
  }
};

// Buttons

$("older").onclick = () => {
  shown += SHOWN_AT_ONCE;
  drawAll();
};
$("news").onclick = () => window.scrollTo({ top: 0, behavior: "smooth" });
window.addEventListener("scroll", () => {
  if (window.scrollY > 80) return;
  unseen = 0;
  $("news").hidden = true;
}, { passive: true });
$("reset").onclick = async () => {
  if (!confirm("This resets the networks and removes all faults. Published posts stay in the record. Continue?")) return;
  await post("/_sandbox/reset", {}).catch(() => {});
  await look();
};

async function prepareExample() {
  const { data } = await request("/_sandbox/accounts");
  const account = data.find((it) => it.network === "mastodon");
  const token = account.credentials.access_token;
  const address = `${location.origin}/mastodon/api/v1/statuses`;
  $("example").textContent = `curl ${address} \\\n  -H 'Authorization: Bearer ${token}' \\\n  -d status='Greetings from the terminal'`;
  $("first").onclick = async () => {
    const status = "Greetings from the sandbox. Everything here is real but the network.";
    await post(address, { status }, { Authorization: `Bearer ${token}` }).catch(() => {});
    await look();
  };
}

// Polling

let looking = Promise.resolve();
let waiting = 0;

async function look() {
  if (waiting > 1) return;
  waiting += 1;
  looking = looking.then(lookOnce);
  await looking;
  waiting -= 1;
}

async function lookOnce() {
  try {
    let found = await request(`/_sandbox/published?after=${last}`);
    if (found.epoch !== epoch) {
      found = await request("/_sandbox/published");
      epoch = found.epoch;
      only = null;
      posts = found.data;
      shown = SHOWN_AT_ONCE;
      drawAll();
    } else if (found.data.length) {
      add(found.data);
    }
    last = posts.length ? posts[posts.length - 1].number : 0;
    drawFaults((await request("/_sandbox/faults")).data);
    tellTimes();
    $("trouble").hidden = true;
  } catch {
    $("trouble").hidden = false;
  }
}

async function learn() {
  const result = await request("/_sandbox/networks");
  for (const network of result.data) networks.set(network.network, network);
  kinds = new Map(result.faults.map((kind) => [kind.fault, kind]));
  fill($("form").network, [["*", "every network"], ...[...networks.values()].map((it) => [it.network, it.title])]);
  fillForm();
  await prepareExample();
}

async function watch() {
  $("more").open = matchMedia("(min-width: 52rem)").matches;
  while (networks.size === 0) {
    await learn().catch(() => { $("trouble").hidden = false; });
    if (networks.size === 0) await new Promise((done) => setTimeout(done, EVERY));
  }
  await look();
  setInterval(() => { if (!document.hidden) look(); }, EVERY);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
}

watch();
