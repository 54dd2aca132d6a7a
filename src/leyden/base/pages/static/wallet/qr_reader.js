/** What the QR codes in a picture say. The picture is looked at here, and goes nowhere. */

const LARGEST = 2_000; // pixels of a side: larger pictures are read no better

/**
 * Give a function that reads a picture or a video's frame: [text, …]. The decoder that is
 * loaded is for browsers without one of their own, as Firefox, Safari, and Chrome on Linux.
 */
export async function reader() {
  if ((await window.BarcodeDetector?.getSupportedFormats())?.includes("qr_code")) {
    const detector = new BarcodeDetector({ formats: ["qr_code"] });
    return async (source) => (await detector.detect(source)).map(({ rawValue }) => rawValue);
  }
  const { decodeQRBatch } = await import("../vendor/qr/decode.js");
  const canvas = document.createElement("canvas");
  return async (source) => {
    const image = pixels(source, canvas);
    const { width, height } = image;
    const [found] = await decodeQRBatch([image], { maxSize: { width, height } });
    return found.filter((each) => typeof each === "string"); // or why one can't be read
  };
}

function pixels(source, canvas) {
  const [width, height] = [source.videoWidth ?? source.width, source.videoHeight ?? source.height];
  const scale = Math.min(1, LARGEST / Math.max(width, height));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}
