/** What is wrong with text that should be JSON; undefined where nothing is. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This isn’t JSON yet: ${(error as Error).message}. A text stands in quotes.`;
  }
}
