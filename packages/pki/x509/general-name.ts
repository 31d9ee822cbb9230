import { isIP } from 'node:net'
import { contextTag, der, derElements } from '../asn1/der.ts'
import { pkiError } from '../error.ts'

/** Kinds of GeneralName (RFC 5280 §4.2.1.6) as OpenSSL's configuration calls them. */
const tags = { email: 1, DNS: 2, URI: 6 } as const

/** DER of a name written `DNS:kms.example` or `IP:192.0.2.1`. @throws PkiError */
export function generalName(text: string): Buffer {
  const colon = text.indexOf(':')
  const [kind, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
  if (kind === 'IP') return der(contextTag(7, false), addressBytes(value))
  if (!Object.hasOwn(tags, kind) || value === '' || !/^[\u0020-\u007e]+$/.test(value))
    throw pkiError('invalid_value', 'A subject alternative name is not one of DNS, IP, email and URI.')
  return der(contextTag(tags[kind as keyof typeof tags], false), Buffer.from(value, 'latin1'))
}

const kinds: ReadonlyMap<number, string> = new Map(
  Object.entries(tags).map(([kind, number]) => [contextTag(number, false), kind]),
)

/** A name as `generalName` takes it; one of another kind as the hexadecimal of its DER: `#a0…`. */
export function generalNameText(whole: Uint8Array): string {
  const [element] = derElements(whole, 'An alternative name')
  if (element === undefined) return '#'
  const { tag, content } = element
  const kind = kinds.get(tag)
  if (kind !== undefined) return `${kind}:${Buffer.from(content).toString('latin1')}`
  const address = tag === contextTag(7, false) ? addressText(content) : undefined
  return address === undefined ? `#${Buffer.from(whole).toString('hex')}` : `IP:${address}`
}

function addressText(bytes: Uint8Array): string | undefined {
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
      throw pkiError('invalid_value', 'A subject alternative name is no IP address.')
  }
}
