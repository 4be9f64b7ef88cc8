/** What the agent may look up. In a real service: a table, a search index, a bucket. */
const documents: Readonly<Record<string, string>> = {
  "shipping-3": "Parcels inside the EU take 3 working days. Express parcels arrive on the next working day.",
  "returns-1": "Goods may be sent back within 30 days. The refund is paid when the parcel has arrived.",
  "returns-2": "Refunds above 100 EUR need the approval of a person.",
  "warranty-1": "Every device has a warranty of two years. Batteries have one of six months.",
  "account-7": "A password is changed under Settings, Security. The old one stops working at once.",
};

/** Ids of the documents that have most words in common with a question, best first. At most two. */
export function search(question: string): string[] {
  const asked = new Set(words(question));
  return Object.entries(documents)
    .map(([id, text]) => ({ id, common: words(`${id} ${text}`).filter((word) => asked.has(word)).length }))
    .filter(({ common }) => common > 0)
    .toSorted((a, b) => b.common - a.common)
    .slice(0, 2)
    .map(({ id }) => id);
}

/** The text of a document; a placeholder for one that was taken away since. */
export function documentText(id: string): string {
  return documents[id] ?? "(this document was removed)";
}

function words(text: string): string[] {
  return text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
}
