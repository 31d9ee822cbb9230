import { failure, parseStrictObject } from '@warder/base'
import { decodeBase64Url } from './base64url.ts'

/** A public key of a header (RFC 7518 §4.6.1.1): texts alone. */
export type EphemeralJwk = Readonly<Record<'kty' | 'crv' | 'x', string>> & { readonly y?: string }

/** Members of a header about the transport of the content key, besides `alg`, `enc` and `kid`. */
export interface ManagementParameters {
  /** RFC 7518 §4.6.1. */
  readonly epk: EphemeralJwk | undefined
  readonly apu: Uint8Array
  readonly apv: Uint8Array
  /** RFC 7518 §4.7.1. */
  readonly iv: Uint8Array | undefined
  readonly tag: Uint8Array | undefined
  /** draft-ietf-jose-pqc-kem: the encapsulation. */
  readonly kemct: Uint8Array | undefined
}

/** Longer than any point of a curve that is used here. */
const maxCoordinateLength = 200

type Header = Readonly<Record<string, unknown>>

/**
 * Reads the key management members of a protected header that was parsed already (`readJweHeader`). Libraries may write
 * them outside of it: a changed member leads to another content key, with which decryption fails.
 * @param unprotected members outside of the protected header
 * @throws failure('bad_request')
 */
export function readManagementParameters(text: string, unprotected: Header = {}): ManagementParameters {
  const header = parseStrictObject(decodeBase64Url(text, 'protected')) ?? {}
  const member = (name: string): unknown => {
    const outside = Object.hasOwn(unprotected, name)
    if (!Object.hasOwn(header, name)) return outside ? unprotected[name] : undefined
    // RFC 7516 §7.2.1: their names must be disjoint.
    if (outside) throw failure('bad_request', `The header member '${name}' appears twice.`)
    return header[name]
  }
  const bytes = (name: string): Buffer | undefined => {
    const value = member(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw wrong(name)
    return decodeBase64Url(value, name)
  }
  const epk = member('epk')
  return {
    epk: epk === undefined ? undefined : readEphemeral(epk),
    apu: bytes('apu') ?? Buffer.alloc(0),
    apv: bytes('apv') ?? Buffer.alloc(0),
    iv: bytes('iv'),
    tag: bytes('tag'),
    kemct: bytes('kemct'),
  }
}

function readEphemeral(value: unknown): EphemeralJwk {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong('epk')
  const members = value as Readonly<Record<string, unknown>>
  const text = (name: string): string => {
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    if (typeof member !== 'string' || member.length > maxCoordinateLength) throw wrong('epk')
    return member
  }
  // A private key here is a mistake that is reported to the sender.
  if (Object.hasOwn(members, 'd'))
    throw failure('bad_request', "The header member 'epk' must not be a private key.")
  const key = { kty: text('kty'), crv: text('crv'), x: text('x') }
  return Object.hasOwn(members, 'y') ? { ...key, y: text('y') } : key
}

function wrong(name: string) {
  return failure('bad_request', `The header member '${name}' does not have the form of RFC 7518.`)
}

/** @throws failure('bad_request') when the header lacks it */
export function requireParameter<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw failure('bad_request', `The header has no '${name}'.`)
  return value
}
