// What is chosen in the ledger stands in the address, as in ledger.html#document=000&verdict=slip, so that it can be linked.
(form => {
  const choose = () => {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
      for (const radio of form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) if (radio.value === value) radio.checked = true;
  };
  const tell = () => {
    const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
    history.replaceState(null, "", location.href.split("#")[0] + (chosen && `#${chosen}`));
  };
  choose();
  addEventListener("hashchange", () => location.hash.includes("=") && (form.reset(), choose()));
  form.addEventListener("change", tell);
  form.addEventListener("reset", () => setTimeout(tell));
})(document.currentScript.previousElementSibling);
