// Loads the modules of the page; if one of them does not come (a network that changed, a console that was just started),
// the page is loaded again, a few times.

const MOST = 5;
const AFTER_MS = 500;

try {
  await import("/page/main.js");
  sessionStorage.removeItem("loads");
} catch (error) {
  const loads = Number(sessionStorage.getItem("loads")) + 1;
  sessionStorage.setItem("loads", loads);
  document.querySelector("#content").textContent = "The page could not be loaded whole. Load it again.";
  if (loads > MOST) throw error;
  setTimeout(() => location.reload(), AFTER_MS);
}
