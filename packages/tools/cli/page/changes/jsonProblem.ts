/** Says why a text isn't JSON; undefined if it is. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This isn’t JSON yet: ${(error as Error).message}. A text stands in quotes.`;
  }
}
