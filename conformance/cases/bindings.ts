import type { XmlElement } from '@warder/kmip/xml'

/** A request uses a placeholder that no response before it has given a value. */
export class UnboundPlaceholder extends Error {
  override readonly name = 'UnboundPlaceholder'
}

const placeholder = /^\$([A-Z_]+(?:_?\d+)?)$/
const moment = /^\$NOW([+-]\d+)?$/

/** The name of a placeholder value (`$UNIQUE_IDENTIFIER_0` without its sign), undefined for other values. */
export function placeholderOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : placeholder.exec(value)?.[1]
}

/** Seconds that a `$NOW…` value lies after now, undefined for other values. */
export function momentOf(value: string | undefined): number | undefined {
  const found = value === undefined ? null : moment.exec(value)
  return found === null ? undefined : Number(found[1] ?? 0)
}

/**
 * What the placeholders of one test case stand for. A placeholder gets its value at its first appearance in a
 * response and must have the same wherever it appears again. Byte strings that the standard lets a server choose
 * (`substitute`) replace the printed ones in later requests, so that what was encrypted can be decrypted again.
 */
export class Bindings {
  /** Milliseconds since 1970, when the case began. */
  readonly started: number
  readonly #values = new Map<string, string>()
  readonly #latest = new Map<string, string>()
  readonly #substitutes = new Map<string, string>()
  readonly #asked = new Set<number>()

  constructor(started: number) {
    this.started = started
  }

  /** A copy to try a comparison with; `adopt` keeps what the trial found out. */
  trial(): Bindings {
    const copy = new Bindings(this.started)
    copy.adopt(this)
    return copy
  }

  adopt(trial: Bindings): void {
    for (const [name, value] of trial.#values) this.#values.set(name, value)
    for (const [printed, value] of trial.#substitutes) this.#substitutes.set(printed, value)
    for (const seconds of trial.#asked) this.#asked.add(seconds)
  }

  valueOf(name: string): string | undefined {
    return this.#values.get(name)
  }

  bind(name: string, value: string): void {
    this.#values.set(name, value)
  }

  /** Remembers the last value of each member: `$MAC_DATA` may stand for one that was printed as itself. */
  remember(tagName: string, value: string): void {
    this.#latest.set(shouted(tagName), value)
  }

  /** Did this server give the value? */
  knows(value: string): boolean {
    return [this.#values, this.#latest, this.#substitutes].some((map) => [...map.values()].includes(value))
  }

  /** The value that stands for printed bytes (hex), where the server may choose them and did. */
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
      if (type === 'DateTime' && momentOf(value) === undefined) this.#asked.add(Date.parse(value) / 1000)
      attributes.set('value', this.#filled(value, type, now))
    }
    return {
      name: element.name,
      attributes,
      children: element.children.map((child) => this.fill(child, now)),
    }
  }

  #filled(value: string, type: string | undefined, now: number): string {
    const shift = momentOf(value)
    if (shift !== undefined) return new Date((Math.floor(now / 1000) + shift) * 1000).toISOString()
    const name = placeholderOf(value)
    if (name !== undefined) {
      const bound =
        this.#values.get(name) ?? this.#latest.get(name) ?? this.#latest.get(name.replace(/_\d+$/, ''))
      if (bound === undefined) throw new UnboundPlaceholder(`$${name} has no value yet`)
      return bound
    }
    return type === 'ByteString' ? (this.substituteOf(value) ?? value) : value
  }
}

/** `MACData` as placeholders write it: `MAC_DATA`. */
function shouted(tagName: string): string {
  return tagName
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toUpperCase()
}
