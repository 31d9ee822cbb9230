import { isIP } from 'node:net'
import { kmipFailure } from '../engine/failure.ts'
import { contextTag, der } from '../keys/der.ts'

/** Kinds of GeneralName (RFC 5280 §4.2.1.6) as OpenSSL's configuration calls them. */
const tags = { email: 1, DNS: 2, URI: 6 } as const

/** DER of a name written `DNS:kms.example` or `IP:192.0.2.1`. @throws InvalidField */
export function generalName(text: string): Buffer {
  const colon = text.indexOf(':')
  const [kind, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
  if (kind === 'IP') return der(contextTag(7, false), addressBytes(value))
  if (!Object.hasOwn(tags, kind) || value === '' || !/^[\u0020-\u007e]+$/.test(value))
    throw kmipFailure('InvalidField', 'A subject alternative name is not one of DNS, IP, email and URI.')
  return der(contextTag(tags[kind as keyof typeof tags], false), Buffer.from(value, 'latin1'))
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
      if (text.includes('.')) throw kmipFailure('InvalidField', 'Write the IPv6 address without dots.')
      return Uint8Array.from(whole.flatMap((word) => [word >> 8, word & 0xff]))
    }
    default:
      throw kmipFailure('InvalidField', 'A subject alternative name is no IP address.')
  }
}
