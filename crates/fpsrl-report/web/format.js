// Numbers for people: three significant digits, a true minus sign.

export function formatNumber(value) {
  if (value === 0 || !Number.isFinite(value)) return value === 0 ? "0" : String(value);
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude >= 6) return value.toExponential(2).replace("e+", "e").replaceAll("-", "\u2212");
  let text = value.toFixed(Math.max(2 - magnitude, 0));
  if (text.includes(".")) text = text.replace(/0+$/, "").replace(/\.$/, "");
  return text.replace("-", "\u2212");
}

// A number with its unit. What is next to nothing in its range is nothing.
export function withUnit(value, unit, [low, high] = [0, 0]) {
  const text = formatNumber(Math.abs(value) < 1e-4 * (high - low) ? 0 : value);
  return unit ? `${text} ${unit}` : text;
}

// Round numbers in a range, at most so many.
export function ticks([low, high], most) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const base = 10 ** Math.floor(Math.log10(span / most));
  const spacing = [1, 2, 5, 10, 20, 50]
    .map((factor) => base * factor)
    .find((one) => Math.floor(high / one) - Math.ceil(low / one) < most);
  const found = [];
  for (let index = Math.ceil(low / spacing); index <= Math.floor(high / spacing); index++) found.push(index * spacing + 0);
  return found;
}
