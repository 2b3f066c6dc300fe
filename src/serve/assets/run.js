// The record of a run, which its pipeline writes every ten seconds.

const PERIOD = 3000, SILENCE = 60000;
const by = id => document.getElementById(id);
const count = value => value === null ? "" : value.toLocaleString("en-US");
const fixed = (value, digits) => value === null ? "" : value.toFixed(digits).replace("-", "−");
const signed = value => (Math.round(value) > 0 ? "+" : "") + fixed(value, 0).replace("−0", "0");

const OUTCOMES = {
  running: "Running", accepted: "Finished", rejected: "Finished, the last candidate rejected",
  inconclusive: "Finished, the last gate undecided", budget: "Budget spent", damaged: "Stopped by a damaged file",
  interrupted: "Interrupted", failed: "Failed",
};

function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function outcome(run) {
  const silence = Date.now() - Date.parse(run.ended);
  const silent = run.outcome === "running" && silence > SILENCE;
  const state = silent ? `No news since ${run.ended}` : OUTCOMES[run.outcome] ?? run.outcome;
  if (run.champion !== null) return `${state}, champion ${run.champion}`;
  return run.outcome === "damaged" ? state : `${state}, no champion yet`;
}

function time(run) {
  const left = run.budget === null ? "" : `, ${duration(run.budget.seconds_left)} of the budget left`;
  return `Began ${run.began}, ${duration(run.seconds)}${left}`;
}

// The stage at work, with the parts that it has done.
function drawWork(run) {
  const stage = run.outcome === "running" ? run.stage_states.find(state => state.state === "running") : undefined;
  by("work").hidden = stage === undefined;
  if (stage === undefined) return;
  by("stage").textContent = `Generation ${stage.generation}: ${stage.stage}`;
  const progress = by("progress");
  if (stage.parts === null) progress.removeAttribute("value");
  else { progress.max = Math.max(1, stage.parts.asked); progress.value = stage.parts.done; }
}

// Beyond this an Elo difference is not known: it stands for a share of all points.
const ELO_KNOWN = 2399;

// As the program prints it: where all games were won or lost, only the bound that is known.
function eloText([elo, low, high]) {
  const isAbove = ELO_KNOWN <= Math.round(high), isBelow = Math.round(low) <= -ELO_KNOWN;
  if (isAbove) return isBelow ? "unknown" : `> ${signed(low)}`;
  return isBelow ? `< ${signed(high)}` : `${signed(elo)} [${signed(low)}, ${signed(high)}]`;
}

function rowOf({ generation, games, positions, mae_before, mae_after, exact_mae, candidate, verdict, elo, champion }) {
  const error = mae_after === null ? "" : `${fixed(mae_before, 2)} → ${fixed(mae_after, 2)}`;
  const interval = elo === null ? "" : eloText(elo);
  const row = document.createElement("tr");
  const texts = [
    generation, count(games), count(positions), error, fixed(exact_mae, 2),
    (candidate ?? "") + (champion ? " (champion)" : ""), verdict ?? "", interval,
  ];
  texts.forEach((text, index) => {
    const cell = document.createElement(index === 0 ? "th" : "td");
    if (index === 0) cell.scope = "row";
    cell.textContent = text;
    row.append(cell);
  });
  return row;
}

function draw(run) {
  document.title = `renma: ${run.run}`;
  by("name").textContent = run.run;
  // Screen readers say a status that is set, the same or not.
  if (by("status").textContent !== outcome(run)) by("status").textContent = outcome(run);
  by("time").textContent = time(run);
  drawWork(run);
  const begun = run.generations.filter(generation => generation.games !== null);
  by("generations").replaceChildren(...begun.map(rowOf).reverse());
  document.querySelector("table").hidden = begun.length === 0;
}

async function look() {
  try {
    const answer = await fetch("/api/run");
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    draw(found);
    by("error").textContent = "";
  } catch (error) {
    if (by("status").textContent === "Loading …") by("status").textContent = "";
    if (by("error").textContent !== error.message) by("error").textContent = error.message;
  }
  setTimeout(look, PERIOD);
}

look();
