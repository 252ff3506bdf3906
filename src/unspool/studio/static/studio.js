"use strict";

const drop = document.getElementById("drop");
if (drop) {
  const input = drop.querySelector("input[type=file]"), fault = document.getElementById("upload-fault");
  const isFine = () => {
    const file = input.files[0], isLarge = file && file.size > Number(drop.dataset.most);
    fault.hidden = !isLarge;
    fault.textContent = isLarge ? `${file.name}: larger than ${drop.dataset.mostTold}, which is the most that is taken; pack it with gzip, or start unspool studio with a larger --max-upload` : "";
    return !isLarge;
  };
  const stop = event => event.preventDefault();
  document.addEventListener("dragover", stop);
  document.addEventListener("drop", stop);
  drop.addEventListener("dragenter", () => drop.classList.add("over"));
  drop.addEventListener("dragleave", event => drop.contains(event.relatedTarget) || drop.classList.remove("over"));
  drop.addEventListener("drop", event => {
    drop.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    if (isFine()) drop.requestSubmit();
  });
  input.addEventListener("change", isFine);
  drop.addEventListener("submit", event => isFine() || event.preventDefault());
}

for (const form of document.querySelectorAll("form[data-sure]"))
  form.addEventListener("submit", event => confirm(form.dataset.sure) || event.preventDefault());

function clock(seconds) {
  const whole = Math.round(seconds), parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const texts = parts.map((part, at) => at ? String(part).padStart(2, "0") : String(part));
  return parts[0] ? texts.join(":") : `${parts[1]}:${texts[2]}`;
}

// Ask every second while the page can be seen; a studio that does not answer is asked again later.
function follow(address, tell) {
  const ask = async () => {
    let isOver = false;
    if (!document.hidden) {
      try {
        const answer = await fetch(address);
        isOver = answer.ok ? tell(await answer.json()) : answer.status === 404;
      } catch { /* stopped, or busy */ }
    }
    if (!isOver) setTimeout(ask, 1000);
  };
  setTimeout(ask, 400);
}

const isActive = state => state === "running" || state === "waiting";

const waiting = document.querySelector("[data-wait]");
if (waiting) follow(waiting.dataset.wait, now => now.state === "done" && (location.reload(), true));

const followed = document.querySelector("[data-follow]");
if (followed) {
  const bar = followed.querySelector("progress"), step = document.getElementById("step").firstChild;
  const badge = followed.querySelector("[data-state]"), took = followed.querySelector("[data-took]");
  follow(followed.dataset.follow, now => {
    if (!isActive(now.state)) { location.reload(); return true; }
    badge.textContent = badge.dataset.state = now.state;
    badge.className = `state ${now.state}`;
    took.textContent = clock(now.elapsed_s);
    if (step.textContent !== now.message) step.textContent = now.message;
    if (now.share === null) bar.removeAttribute("value"); else bar.value = now.share;
    return false;
  });
}

const list = document.querySelector("[data-states]");
if (list && list.querySelector("[data-state=running], [data-state=waiting]"))
  follow(list.dataset.states, all => {
    for (const badge of list.querySelectorAll("[data-state]")) {
      const now = all[badge.dataset.run];
      if (!now) continue;
      badge.textContent = badge.dataset.state = now.state;
      badge.className = `state ${now.state}`;
      badge.title = now.message;
      list.querySelector(`[data-took="${badge.dataset.run}"]`).textContent = clock(now.elapsed_s);
      const box = badge.closest("tr").querySelector("input");
      box.disabled = now.state !== "done" || box.dataset.never === "";
    }
    return !list.querySelector("[data-state=running], [data-state=waiting]");
  });
