/**
 * Scanning what is to be paid, with the camera or from a picture that is chosen or pasted.
 * The camera is on while its dialog is open, and somebody can see it.
 */

import { destination } from "./destination.js";
import { $ } from "./page.js";
import { reader } from "./qr_reader.js";
import { Trouble } from "./trouble.js";

const AGAIN_MS = 150;
const POINT = "Point the camera at a QR code.";
const NO_CAMERA = {
  NotAllowedError: "The browser does not let this page use the camera. Allow it in the browser's settings for this page, or choose a picture.",
  NotFoundError: "There is no camera here. Choose a picture.",
  NotReadableError: "Another program uses the camera. Close it and scan again, or choose a picture.",
};
const dialog = $("scan");
const video = $("scan-video");
let read; // the reader, once it is loaded
let camera; // its stream, while it is on
let found; // what to do with what is found

/** Scan on a click; give the text of the one code that can be paid to `use`. */
export function onScan(id, use) {
  found = use;
  $(id).addEventListener("click", () => {
    say("");
    dialog.showModal();
    look();
  });
  $(id).disabled = false;
}

/** Close it: the vault was locked. */
export const stopScanning = () => dialog.close();

/** Look through the camera until it is off. */
async function look() {
  if (camera) return;
  const mine = await turnOn();
  if (!mine) return;
  say(POINT);
  try {
    read ??= await reader();
    while (camera === mine) {
      if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) take(await read(video), mine);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  } catch (error) {
    if (camera !== mine) return; // it was turned off in the middle of a frame
    turnOff();
    failed(error);
  }
}

async function turnOn() {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      video: { facingMode: "environment", width: { ideal: 1280 } },
    });
  } catch (error) {
    say(NO_CAMERA[error.name] ?? "The camera can't be used. Choose a picture.");
    return undefined;
  }
  if (!dialog.open || document.hidden || camera) {
    stop(stream); // it took somebody long to allow it
    return undefined;
  }
  camera = stream;
  video.srcObject = stream;
  video.hidden = false;
  video.play().catch(() => {}); // it was turned off meanwhile
  return stream;
}

function turnOff() {
  if (camera) stop(camera);
  camera = undefined;
  video.srcObject = null;
  video.hidden = true;
}

const stop = (stream) => stream.getTracks().forEach((track) => track.stop());

/** Use the one text that can be paid, or say what is wrong with those that were read. */
function take(texts, from) {
  if (!dialog.open || camera !== from) return;
  const different = [...new Set(texts)];
  const payable = different.filter(isPayable);
  if (payable.length === 1) {
    dialog.close();
    found(payable[0]);
  } else if (payable.length > 1) {
    say("There are several QR codes. Show one alone.");
  } else if (different.length) {
    say("This QR code has no invoice and no address.");
  }
}

function isPayable(text) {
  try {
    destination(text);
    return true;
  } catch (error) {
    if (error instanceof Trouble) return false;
    throw error;
  }
}

async function readPicture(file) {
  if (!file) return;
  say("Reading the picture…");
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    say("This file is not a picture that the browser can read.");
    return;
  }
  try {
    read ??= await reader();
    const texts = await read(picture);
    if (texts.length) take(texts, camera);
    else say("No QR code was found in this picture.");
  } catch (error) {
    failed(error);
  } finally {
    picture.close();
  }
}

function failed(error) {
  console.error(error);
  say("QR codes can't be read here now. Close this and paste the text.");
}

function say(words) {
  $("scan-says").textContent = words;
  $("scan-says").hidden = words === "";
}

$("scan-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => {
  turnOff();
  $("scan-file").value = "";
});
$("scan-file").addEventListener("change", ({ target }) => readPicture(target.files[0]));
document.addEventListener("paste", ({ clipboardData }) => {
  if (dialog.open) readPicture([...clipboardData.files][0]);
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) turnOff();
  else if (dialog.open) look();
});
window.addEventListener("pagehide", turnOff);
