import { isIP } from 'node:net'
import { acmeProblem, type Problem } from './problem.ts'

/** RFC 8555 §8.3 and §8.4, RFC 8737. */
export const challengeTypes = ['http-01', 'dns-01', 'tls-alpn-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

/** Identifier in a certificate: a DNS name, or an address (RFC 8738). */
export interface Identifier {
  readonly type: 'dns' | 'ip'
  readonly value: string
}

/** One method to prove control of an identifier. */
export interface Challenge {
  readonly type: ChallengeType
  readonly token: string
  readonly status: 'pending' | 'valid' | 'invalid'
  /** Unix milliseconds. */
  readonly validatedAt?: number
  readonly error?: Problem
}

const maxIdentifiers = 100
const maxNameLength = 253
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * The identifiers of a new order (RFC 8555 §7.4, RFC 8738 §4), in lower case, each once.
 * @throws malformed, unsupportedIdentifier, rejectedIdentifier
 */
export function readIdentifiers(value: unknown): readonly Identifier[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxIdentifiers)
    throw acmeProblem('malformed', `'identifiers' must be a list of 1 to ${maxIdentifiers}.`)
  const read = value.map(readIdentifier)
  const seen = new Map(read.map((each) => [identifierText(each), each]))
  return [...seen.values()]
}

/** For comparison: `dns:example.com`. */
export function identifierText({ type, value }: Identifier): string {
  return `${type}:${value}`
}

function readIdentifier(each: unknown): Identifier {
  if (typeof each !== 'object' || each === null)
    throw acmeProblem('malformed', 'An identifier must be an object.')
  const { type, value } = each as Readonly<Record<string, unknown>>
  if (typeof value !== 'string' || typeof type !== 'string')
    throw acmeProblem('malformed', "An identifier must have the strings 'type' and 'value'.")
  if (type === 'dns') return { type, value: dnsName(value) }
  if (type === 'ip') return { type, value: address(value) }
  throw acmeProblem('unsupportedIdentifier', 'The type of an identifier must be dns or ip.')
}

function dnsName(value: string): string {
  const name = value.toLowerCase()
  const plain = name.startsWith('*.') ? name.slice(2) : name
  const labels = plain.split('.')
  // Some software reads a name as an address if its last label has only digits (RFC 3696 §2).
  const isName =
    name.length <= maxNameLength &&
    labels.every((each) => label.test(each)) &&
    !/^\d+$/.test(labels.at(-1) ?? '')
  if (!isName) throw acmeProblem('malformed', 'A value must be a DNS name in ASCII, or a wildcard of one.')
  return name
}

/** RFC 8738 §3: in its canonical form (RFC 5952). */
function address(value: string): string {
  const family = isIP(value)
  if (family === 4) return value
  const canonical =
    family === 6 && !value.includes('%') ? new URL(`http://[${value}]/`).hostname.slice(1, -1) : ''
  if (canonical === '' || canonical !== value.toLowerCase())
    throw acmeProblem('malformed', 'A value must be an IP address in its canonical form.')
  return canonical
}
