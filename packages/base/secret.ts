import { inspect } from 'node:util'

const hidden = '[secret]'

/**
 * Bytes that must not be shown. Prints, inspects and serialises as `[secret]`; exposes its bytes only inside `use`.
 * Wiping is best effort (the runtime may have copied them), and use after wiping is an error.
 */
export class Secret {
  #bytes: Uint8Array | undefined

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  static fromText(text: string): Secret {
    return new Secret(Buffer.from(text, 'utf8'))
  }

  use<R>(read: (bytes: Uint8Array) => R): R {
    if (this.#bytes === undefined) throw new Error('a wiped secret was used')
    return read(this.#bytes)
  }

  /** Number of bytes. */
  get length(): number {
    return this.#bytes?.length ?? 0
  }

  wipe(): void {
    this.#bytes?.fill(0)
    this.#bytes = undefined
  }

  toString(): string {
    return hidden
  }

  toJSON(): string {
    return hidden
  }

  [inspect.custom](): string {
    return hidden
  }
}

/** Members of a JWK of which a private or symmetric key has one (RFC 7517, RFC 7518 §6, RFC 8037 §2, RFC 9964). */
export const secretJwkMembers = ['k', 'd', 'priv'] as const

/** Private members that RSA keys of two primes have besides `d` (RFC 7518 §6.3.2). */
export const factorJwkMembers = ['p', 'q', 'dp', 'dq', 'qi'] as const

/** The material of public keys. */
export const publicJwkMembers = ['x', 'y', 'n', 'e', 'pub'] as const

/**
 * Every member with private or symmetric key material. `oth` is for RSA of more than two primes; earlier drafts of AKP
 * called `priv` `seed`.
 */
export const privateJwkMembers: readonly string[] = [...secretJwkMembers, ...factorJwkMembers, 'oth', 'seed']
