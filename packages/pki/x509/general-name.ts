import { isIP } from 'node:net'
import { contextTag, type DerElement, der, derElements, derMembers, derSequence } from '../der.ts'
import { pkiError } from '../error.ts'
import { type Extension, extensionIdentifiers, extensionValue } from './extensions.ts'

/** Kinds of GeneralName (RFC 5280 §4.2.1.6) as OpenSSL's configuration calls them. */
const tags = { email: 1, DNS: 2, URI: 6 } as const

/** Encodes a name such as `DNS:kms.example` or `IP:192.0.2.1`. @throws PkiError */
export function generalName(text: string): Buffer {
  const colon = text.indexOf(':')
  const [kind, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
  if (kind === 'IP') return der(contextTag(7, false), addressBytes(value))
  if (!Object.hasOwn(tags, kind) || value === '' || !/^[\u0020-\u007e]+$/.test(value))
    throw pkiError('invalid_value', 'A subject alternative name must be of type DNS, IP, email or URI.')
  return der(contextTag(tags[kind as keyof typeof tags], false), Buffer.from(value, 'latin1'))
}

/** Encodes a directory name: a GeneralName with a distinguished name. */
export function directoryName(name: Uint8Array): Buffer {
  return der(contextTag(4), name)
}

/**
 * Encodes a subtree of name constraints (RFC 5280 §4.2.1.10): `DNS:example.com`, `email:.example.com`,
 * `URI:.example.com`, `IP:192.0.2.0/24`. @throws PkiError
 */
export function constraintName(text: string): Buffer {
  const [, address, length] = /^IP:(.{1,45})\/(\d{1,3})$/.exec(text) ?? []
  if (address === undefined) {
    if (text.startsWith('IP:'))
      throw pkiError('invalid_value', 'A network must be written as an address and a length: 192.0.2.0/24.')
    return generalName(text)
  }
  const bytes = addressBytes(address)
  const bits = Number(length)
  if (bits > bytes.length * 8) throw pkiError('invalid_value', 'The length of the network is too high.')
  const mask = bytes.map((_byte, index) => 0xff & ~(0xff >> Math.max(0, Math.min(8, bits - index * 8))))
  return der(
    contextTag(7, false),
    bytes.map((byte, index) => byte & (mask[index] ?? 0)),
    mask,
  )
}

const maxSpiffeIdLength = 2048
const spiffeId = /^spiffe:\/\/[a-z0-9._-]{1,255}((?:\/[A-Za-z0-9._-]+)*)$/

/** Encodes the name of a workload: `spiffe://example.org/billing` (SPIFFE ID §2). @throws PkiError */
export function spiffeName(id: string): Buffer {
  const path = id.length > maxSpiffeIdLength ? undefined : spiffeId.exec(id)?.[1]
  if (path === undefined || path.split('/').some((segment) => segment === '.' || segment === '..'))
    throw pkiError('invalid_value', 'The SPIFFE ID is not valid.')
  return generalName(`URI:${id}`)
}

/** Kind of a GeneralName. */
export type GeneralNameKind = keyof typeof tags | 'IP' | 'directory' | 'other'

export interface ReadGeneralName {
  readonly kind: GeneralNameKind
  readonly tag: number
  /** DER of the distinguished name for a directory name, else the content. */
  readonly value: Uint8Array
  /** DER. */
  readonly whole: Uint8Array
}

/** @throws PkiError */
export function readGeneralName({ tag, content, whole }: DerElement): ReadGeneralName {
  if (tag === contextTag(4)) return { kind: 'directory', tag, value: content, whole }
  const kind = tag === contextTag(7, false) ? 'IP' : (kinds.get(tag) ?? 'other')
  return { kind, tag, value: content, whole }
}

const kinds: ReadonlyMap<number, keyof typeof tags> = new Map(
  Object.entries(tags).map(([kind, number]) => [contextTag(number, false), kind as keyof typeof tags]),
)

/** Formats a name in the form that `generalName` accepts; other kinds as the hexadecimal of their DER: `#a0…`. */
export function generalNameText(whole: Uint8Array): string {
  const [element] = derElements(whole, 'An alternative name')
  if (element === undefined) return '#'
  const { tag, content } = element
  const kind = kinds.get(tag)
  if (kind !== undefined) return `${kind}:${Buffer.from(content).toString('latin1')}`
  const address = tag === contextTag(7, false) ? addressText(content) : undefined
  return address === undefined ? `#${Buffer.from(whole).toString('hex')}` : `IP:${address}`
}

/** Formats 4 or 16 bytes; undefined for other lengths. */
export function addressText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return undefined
  const words = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? []
  // URLs write addresses in the short form of RFC 5952.
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1)
}

function addressBytes(text: string): Uint8Array {
  switch (isIP(text)) {
    case 4:
      return Uint8Array.from(text.split('.').map(Number))
    case 6: {
      const [head = '', tail] = text.split('::')
      const words = (part: string) =>
        part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16))
      const [before, behind] = [words(head), tail === undefined ? [] : words(tail)]
      const whole = [
        ...before,
        ...Array.from({ length: 8 - before.length - behind.length }, () => 0),
        ...behind,
      ]
      if (text.includes('%')) throw pkiError('invalid_value', 'Write the IPv6 address without a zone.')
      if (text.includes('.')) throw pkiError('invalid_value', 'Write the IPv6 address without dots.')
      return Uint8Array.from(whole.flatMap((word) => [word >> 8, word & 0xff]))
    }
    default:
      throw pkiError('invalid_value', 'A subject alternative name of type IP is not an IP address.')
  }
}

/** DER of the GeneralNames that are the subtrees (see `constraintName` and `directoryName`). */
interface NewNameConstraints {
  readonly permitted?: readonly Uint8Array[]
  readonly excluded?: readonly Uint8Array[]
}

/** Name constraints of an authority (RFC 5280 §4.2.1.10): critical. @throws PkiError */
export function nameConstraints({ permitted = [], excluded = [] }: NewNameConstraints): Extension {
  if (permitted.length + excluded.length === 0)
    throw pkiError('invalid_value', 'Name constraints must permit or exclude at least one name.')
  const subtrees = (number: number, bases: readonly Uint8Array[]) =>
    bases.length === 0 ? [] : [der(contextTag(number), ...bases.map((base) => derSequence(base)))]
  return {
    identifier: extensionIdentifiers.nameConstraints,
    critical: true,
    value: derSequence(...subtrees(0, permitted), ...subtrees(1, excluded)),
  }
}

export interface NameConstraints {
  readonly permitted: readonly ReadGeneralName[]
  readonly excluded: readonly ReadGeneralName[]
}

const what = 'nameConstraints'

/** @throws PkiError, also for subtrees with a minimum or maximum, which RFC 5280 §4.2.1.10 forbids */
export function readNameConstraints(extensions: readonly Extension[]): NameConstraints | undefined {
  const value = extensionValue(extensions, extensionIdentifiers.nameConstraints)
  if (value === undefined) return undefined
  const members = derMembers(value, what)
  if (members.some(({ tag }) => tag !== contextTag(0) && tag !== contextTag(1)))
    throw pkiError('malformed', `${what} has an unknown member.`)
  const subtrees = (number: number) =>
    members
      .filter(({ tag }) => tag === contextTag(number))
      .flatMap(({ content }) => derElements(content, what))
  return { permitted: subtrees(0).map(subtree), excluded: subtrees(1).map(subtree) }
}

function subtree(element: DerElement): ReadGeneralName {
  const [base, bound] = derMembers(element.whole, what)
  if (base === undefined || bound !== undefined)
    throw pkiError('malformed', `${what} has a subtree with a minimum or maximum.`)
  return readGeneralName(base)
}
