// Loads the modules of the page.  If one of them cannot be loaded (the network changed, the console has just started),
// the page reloads itself, a few times.

const MOST = 5;
const AFTER_MS = 500;

try {
  await import("/page/main.js");
  sessionStorage.removeItem("loads");
} catch (error) {
  const loads = Number(sessionStorage.getItem("loads")) + 1;
  sessionStorage.setItem("loads", loads);
  document.querySelector("#content").textContent = "The page could not be loaded completely. Reload it.";
  if (loads > MOST) throw error;
  setTimeout(() => location.reload(), AFTER_MS);
}
