import type { XmlElement } from '@warder/kmip-codec/testing'

/** A request uses a placeholder that no response before it has given a value. */
export class UnboundPlaceholder extends Error {
  override readonly name = 'UnboundPlaceholder'
}

const placeholder = /^\$([A-Z_]+(?:_?\d+)?)$/
const moment = /^\$NOW([+-]\d+)?$/

/** The name of a placeholder value (`$UNIQUE_IDENTIFIER_0` without its sign), undefined for other values. */
export function parsePlaceholder(value: string | undefined): string | undefined {
  return value === undefined ? undefined : placeholder.exec(value)?.[1]
}

/** Seconds that a `$NOW…` value lies after now, undefined for other values. */
export function parseMoment(value: string | undefined): number | undefined {
  const found = value === undefined ? null : moment.exec(value)
  return found === null ? undefined : Number(found[1] ?? 0)
}

interface Described {
  /** Value of the placeholder at that time. */
  readonly value: string | undefined
  readonly texts: readonly string[]
}

/**
 * Values of the placeholders of one test case. A placeholder gets its value at its first appearance in a response and
 * must have the same wherever it appears again. Byte strings that the standard lets a server choose (`substitute`)
 * replace the printed ones in later requests, so that ciphertexts can be decrypted again.
 */
export class Bindings {
  /** Milliseconds since 1970, when the case began. */
  readonly started: number
  readonly #values = new Map<string, string>()
  readonly #latest = new Map<string, string>()
  readonly #substitutes = new Map<string, string>()
  readonly #asked = new Set<number>()
  /** Texts that describe the object of a placeholder, from the request that created it. */
  readonly #described = new Map<string, Described>()
  /** Replacements of printed texts since objects changed their names. */
  readonly #labels = new Map<string, string>()
  /** Placeholders whose place in the server's order is known. */
  readonly #settled = new Set<string>()

  constructor(started: number) {
    this.started = started
  }

  /** A copy for a trial comparison; `adopt` takes over the bindings of the trial. */
  trial(): Bindings {
    const copy = new Bindings(this.started)
    copy.adopt(this)
    return copy
  }

  adopt(trial: Bindings): void {
    for (const [name, value] of trial.#values) this.#values.set(name, value)
    for (const [printed, value] of trial.#substitutes) this.#substitutes.set(printed, value)
    for (const seconds of trial.#asked) this.#asked.add(seconds)
    for (const [name, texts] of trial.#described) this.#described.set(name, texts)
    for (const [printed, label] of trial.#labels) this.#labels.set(printed, label)
    for (const name of trial.#settled) this.#settled.add(name)
  }

  valueOf(name: string): string | undefined {
    return this.#values.get(name)
  }

  bind(name: string, value: string): void {
    this.#values.set(name, value)
  }

  /** Texts of a request for the object of a placeholder. */
  describe(name: string, texts: readonly string[]): void {
    this.#described.set(name, { value: this.#values.get(name), texts })
  }

  /** The place of this object in the server's order is known now, and does not change again. */
  settle(name: string): void {
    this.#settled.add(name)
  }

  /**
   * The server counts another object of the case at this place: the two placeholders change their objects, and what was
   * printed of one is that of the other. @returns false if it is no object of the case or its place is known
   */
  reorder(name: string, value: string): boolean {
    const before = this.#values.get(name)
    const other = [...this.#values].find(([, bound]) => bound === value)?.[0]
    if (before === undefined || other === undefined) return false
    if (this.#settled.has(name) || this.#settled.has(other)) return false
    this.#values.set(name, value)
    this.#values.set(other, before)
    this.#relabel()
    return true
  }

  #relabel(): void {
    const objects = [...this.#described.values()]
    for (const [name, { texts }] of this.#described) {
      const object = objects.find(({ value }) => value === this.#values.get(name))
      for (const [index, text] of texts.entries()) this.#labels.set(text, object?.texts[index] ?? text)
    }
  }

  /** A printed text as it is now that objects changed their names. */
  relabelled(printed: string): string {
    return this.#labels.get(printed) ?? printed
  }

  /** Remembers the last value of each member: `$MAC_DATA` may refer to a value that was printed literally. */
  remember(tagName: string, value: string): void {
    this.#latest.set(toUpperSnakeCase(tagName), value)
  }

  /** Whether this server returned the value. */
  knows(value: string): boolean {
    return [this.#values, this.#latest, this.#substitutes].some((map) => [...map.values()].includes(value))
  }

  /** The value in place of printed bytes (hex), if the server was allowed to choose them and did. */
  substituteOf(printed: string): string | undefined {
    return this.#substitutes.get(printed.toLowerCase())
  }

  substitute(printed: string, actual: string): void {
    this.#substitutes.set(printed.toLowerCase(), actual)
  }

  /** Whether a request of the case said this moment (Unix seconds): else the server's clock did, when it was printed. */
  asked(seconds: number): boolean {
    return this.#asked.has(seconds)
  }

  /**
   * A request as it is sent.
   * @throws UnboundPlaceholder
   */
  fill(element: XmlElement, now: number): XmlElement {
    const attributes = new Map(element.attributes)
    const value = attributes.get('value')
    if (value !== undefined) {
      const type = attributes.get('type')
      if (type === 'DateTime' && parseMoment(value) === undefined) this.#asked.add(Date.parse(value) / 1000)
      attributes.set('value', this.#filled(value, type, now))
    }
    return {
      name: element.name,
      attributes,
      children: element.children.map((child) => this.fill(child, now)),
    }
  }

  #filled(value: string, type: string | undefined, now: number): string {
    const shift = parseMoment(value)
    if (shift !== undefined) return new Date((Math.floor(now / 1000) + shift) * 1000).toISOString()
    const name = parsePlaceholder(value)
    if (name !== undefined) {
      const bound =
        this.#values.get(name) ?? this.#latest.get(name) ?? this.#latest.get(name.replace(/_\d+$/, ''))
      if (bound === undefined) throw new UnboundPlaceholder(`$${name} has no value yet`)
      return bound
    }
    if (type === 'TextString') return this.relabelled(value)
    return type === 'ByteString' ? (this.substituteOf(value) ?? value) : value
  }
}

/** `MACData` as placeholders write it: `MAC_DATA`. */
function toUpperSnakeCase(tagName: string): string {
  return tagName
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
}
