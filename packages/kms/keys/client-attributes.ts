/**
 * Attributes that clients of one protocol keep with an object and read back: names, links, comments, a vendor's own. No
 * rule of use looks at them. The object carries them as the text of its column; the protocol's front end parses the
 * text at most once for each row in memory.
 */
export class ClientAttributes {
  static readonly none = new ClientAttributes('')

  /** As stored; empty = there are none. */
  readonly text: string
  #parsed: unknown

  /** @param parsed what `parse` would make of the text, where the caller has it already */
  constructor(text: string, parsed?: unknown) {
    this.text = text
    this.#parsed = parsed
  }

  /** @param parse the same function at every call: its result is kept */
  parsed<T>(parse: (text: string) => T): T {
    this.#parsed ??= parse(this.text)
    return this.#parsed as T
  }
}
