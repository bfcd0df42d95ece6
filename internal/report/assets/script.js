"use strict";
(() => {
  const readout = document.getElementById("readout");
  const linesOf = (svg) => [...svg.querySelectorAll(".line")].filter((l) => l.dataset.points && !l.closest(".off")).map((l) => ({
    name: l.dataset.name,
    points: l.dataset.points.split(";").map((p) => { const [x, y, at, value] = p.split(" "); return { x: +x, y: +y, at, value }; }),
  }));
  const places = (lines) => [...new Set(lines.flatMap((l) => l.points.map((p) => p.x)))].sort((a, b) => a - b);
  const nearest = (list, x) => list.reduce((a, b) => (Math.abs(b - x) < Math.abs(a - x) ? b : a));
  const hide = (svg) => { svg.querySelector(".cursor").style.visibility = "hidden"; readout.hidden = true; };

  const show = (svg, x, left, top) => {
    const lines = linesOf(svg);
    if (!lines.length) return;
    const place = nearest(places(lines), x);
    svg.dataset.place = place;
    const cursor = svg.querySelector(".cursor");
    cursor.setAttribute("x1", place);
    cursor.setAttribute("x2", place);
    cursor.style.visibility = "visible";
    let head = "";
    const rows = [];
    for (const l of lines) {
      const p = l.points.reduce((a, b) => (Math.abs(b.x - place) < Math.abs(a.x - place) ? b : a));
      if (Math.abs(p.x - place) > 6) continue;
      head = head || p.at;
      rows.push(l.name + ": " + p.value);
    }
    const unit = svg.querySelector(".unit");
    readout.textContent = head + " " + (unit ? unit.textContent : "") + "\n" + rows.join("\n");
    readout.hidden = false;
    const box = readout.getBoundingClientRect();
    readout.style.left = Math.max(4, Math.min(left + 14, innerWidth - box.width - 8)) + "px";
    readout.style.top = Math.max(4, Math.min(top + 14, innerHeight - box.height - 8)) + "px";
  };

  for (const svg of document.querySelectorAll("svg.chart")) {
    svg.addEventListener("pointermove", (e) => {
      const box = svg.getBoundingClientRect();
      show(svg, (e.clientX - box.left) / box.width * svg.viewBox.baseVal.width, e.clientX, e.clientY);
    });
    svg.addEventListener("pointerleave", () => hide(svg));
    svg.addEventListener("blur", () => hide(svg));
    svg.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (e.key === "Escape") hide(svg);
      if (!step) return;
      e.preventDefault();
      const list = places(linesOf(svg));
      if (!list.length) return;
      const at = svg.dataset.place === undefined ? (step > 0 ? -1 : list.length) : list.indexOf(+svg.dataset.place);
      const x = list[Math.max(0, Math.min(list.length - 1, at + step))];
      const box = svg.getBoundingClientRect();
      show(svg, x, box.left + x / svg.viewBox.baseVal.width * box.width, box.top);
    });
  }

  for (const button of document.querySelectorAll("button.key")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", on);
      for (const el of document.querySelectorAll("#ladder [data-series]")) {
        if (el.dataset.series === button.dataset.name) el.classList.toggle("off", !on);
      }
    });
  }

  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
})();
