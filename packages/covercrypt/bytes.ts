import { covercryptError } from './error.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Ten groups of seven bits encode 64 bits; padded numbers are read up to this length. */
const maxLebBytes = 10

/** Reads one object completely. Slices share the memory of the source. */
export class Reader {
  readonly #bytes: Uint8Array
  readonly #what: string
  #at = 0

  /** @param what the object, for errors: `user key` */
  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes
    this.#what = what
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  get position(): number {
    return this.#at
  }

  /** @throws CovercryptError malformed, with the object and the reason */
  refuse(reason: string): never {
    throw covercryptError('malformed', `The ${this.#what} is malformed: ${reason}.`)
  }

  take(length: number): Uint8Array {
    if (length > this.left) this.refuse('it is truncated')
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }

  /** Returns the bytes read since `from`, an earlier `position`. */
  since(from: number): Uint8Array {
    return this.#bytes.subarray(from, this.#at)
  }

  /** Reads an unsigned LEB128, also a padded one, up to 2^53 - 1. */
  leb(): number {
    let value = 0n
    for (let index = 0; index < maxLebBytes; index++) {
      const byte = this.take(1)[0] as number
      value |= BigInt(byte & 0x7f) << BigInt(7 * index)
      if (byte < 0x80) {
        if (value > BigInt(Number.MAX_SAFE_INTEGER)) break
        return Number(value)
      }
    }
    return this.refuse('a number is out of range')
  }

  /** Reads one of the numbers `allowed`. */
  code<Code extends number>(allowed: readonly Code[], name: string): Code {
    const value = this.leb()
    const found = allowed.find((code) => code === value)
    return found ?? this.refuse(`${name} ${value} is unknown`)
  }

  flag(name: string): boolean {
    return this.code([0, 1], name) === 1
  }

  /**
   * Reads the number of elements of a list. A number that exceeds the remaining bytes is refused before memory is
   * allocated.
   */
  count(minElementBytes: number): number {
    const count = this.leb()
    if (count > this.left / minElementBytes) this.refuse('a count exceeds the data')
    return count
  }

  list<Element>(minElementBytes: number, read: () => Element): Element[] {
    return Array.from({ length: this.count(minElementBytes) }, read)
  }

  bytes(): Uint8Array {
    return this.take(this.count(1))
  }

  text(): string {
    try {
      return utf8.decode(this.bytes())
    } catch (error) {
      if (error instanceof TypeError) return this.refuse('a string is not UTF-8')
      throw error
    }
  }

  end(): void {
    if (this.left > 0) this.refuse('it has trailing bytes')
  }
}

/** The shortest unsigned LEB128 of a number from 0 to 2^53 - 1. */
export function leb(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  do {
    const group = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? group + 128 : group)
  } while (rest > 0)
  return Uint8Array.from(bytes)
}

export function text(value: string): Uint8Array {
  return bytes(Buffer.from(value, 'utf8'))
}

export function bytes(value: Uint8Array): Uint8Array {
  return join([leb(value.length), value])
}

export function list(elements: readonly Uint8Array[]): Uint8Array {
  return join([leb(elements.length), ...elements])
}

export function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
