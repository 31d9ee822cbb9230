import { comparableName } from '../distinguished-name.ts'
import type { GeneralNameKind, ReadGeneralName } from '../general-name.ts'

/**
 * Whether a name is inside a subtree (RFC 5280 §4.2.1.10). Undefined: the name cannot be compared and violates every
 * constraint of its type.
 */
export function isInside(kind: GeneralNameKind, name: Uint8Array, base: Uint8Array): boolean | undefined {
  switch (kind) {
    case 'DNS':
      return hostInside(text(name), text(base))
    case 'email':
      return mailboxInside(text(name), text(base))
    case 'URI':
      return uriInside(text(name), text(base))
    case 'IP':
      return addressInside(name, base)
    case 'directory':
      return directoryInside(comparable(name), comparable(base))
    case 'other':
      return undefined
  }
}

/** Normalizes a name once for many comparisons. */
const compared = new WeakMap<Uint8Array, readonly string[]>()

function comparable(name: Uint8Array): readonly string[] {
  const before = compared.get(name)
  if (before !== undefined) return before
  const made = comparableName(name)
  compared.set(name, made)
  return made
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

/** The first label may be a wildcard. Existing names contain underscores. */
const host =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

function normalizeHost(given: string): string | undefined {
  const lower = given.toLowerCase()
  return lower.length <= 253 && host.test(lower) ? lower : undefined
}

/**
 * Matches the name itself and all subdomains. A base with a leading dot, as many authorities write it, excludes the
 * name itself.
 */
function hostInside(name: string, base: string): boolean | undefined {
  const given = normalizeHost(name)
  if (given === undefined) return undefined
  if (base === '') return true
  const wanted = base.toLowerCase()
  return wanted.startsWith('.') ? given.endsWith(wanted) : given === wanted || given.endsWith(`.${wanted}`)
}

/**
 * Whether a wildcard certificate could be used for a name inside an excluded subtree: `*.example.com` covers
 * `secret.example.com`, although it is not inside that subtree.
 */
export function wildcardReaches(name: Uint8Array, base: Uint8Array): boolean {
  const [given, wanted] = [text(name).toLowerCase(), text(base).toLowerCase().replace(/^\./, '')]
  if (!given.startsWith('*.')) return false
  const dot = wanted.indexOf('.')
  return dot > 0 && wanted.slice(dot) === given.slice(1)
}

function mailboxInside(name: string, base: string): boolean | undefined {
  const at = name.lastIndexOf('@')
  const [local, domain] = [name.slice(0, at), normalizeHost(name.slice(at + 1))]
  if (at < 1 || domain === undefined) return undefined
  const baseAt = base.lastIndexOf('@')
  // RFC 5280 §7.5: the local part is case-sensitive.
  if (baseAt >= 0) return local === base.slice(0, baseAt) && domain === base.slice(baseAt + 1).toLowerCase()
  return isInDomain(domain, base)
}

/** RFC 5280 §4.2.1.10 for URIs and mailboxes: the host itself, or all hosts in a domain with a leading dot. */
function isInDomain(given: string, base: string): boolean {
  const wanted = base.toLowerCase()
  if (wanted === '') return true
  return wanted.startsWith('.') ? given.endsWith(wanted) : given === wanted
}

// Browsers end the host at a backslash, so none is allowed before it.
const authority = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\]*@)?([^/?#:@[\]\\]+)(?::\d*)?(?:[/?#]|$)/i
const ipv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/** RFC 5280 §4.2.1.10: names without a host, or with an address as the host, are refused under a constraint. */
function uriInside(name: string, base: string): boolean | undefined {
  const found = authority.exec(name)?.[1]
  const given = found === undefined || ipv4.test(found) ? undefined : normalizeHost(found)
  return given === undefined ? undefined : isInDomain(given, base)
}

function addressInside(name: Uint8Array, base: Uint8Array): boolean | undefined {
  if (name.length !== 4 && name.length !== 16) return undefined
  if (base.length !== 8 && base.length !== 32) return undefined
  if (base.length !== name.length * 2) return false
  return name.every((byte, index) => {
    const mask = base[name.length + index] ?? 0
    return (byte & mask) === ((base[index] ?? 0) & mask)
  })
}

function directoryInside(name: readonly string[], base: readonly string[]): boolean {
  return base.length <= name.length && base.every((relative, index) => relative === name[index])
}

const dotted = /^[a-z0-9_*-]+(?:\.[a-z0-9_-]+)+$/i

/** A name, or a subject value that acts as one. */
export type ComparedName = Pick<ReadGeneralName, 'kind' | 'tag' | 'value'>

/** Lists the names of a certificate that constraints apply to. @param isEnd the last certificate of the path */
export function listConstrainedNames(
  node: {
    readonly certificate: { readonly subject: Uint8Array }
    readonly subject: readonly string[]
    readonly alternativeNames: readonly ReadGeneralName[]
    readonly emailAddresses: readonly string[]
    readonly commonNames: readonly string[]
  },
  isEnd: boolean,
): readonly ComparedName[] {
  const { alternativeNames } = node
  const has = (wanted: GeneralNameKind) => alternativeNames.some(({ kind }) => kind === wanted)
  const also = (kind: GeneralNameKind, values: readonly string[]) =>
    values.map((value) => ({ kind, tag: 0, value: Buffer.from(value, 'utf8') }))
  return [
    ...alternativeNames,
    ...(node.subject.length === 0
      ? []
      : [{ kind: 'directory' as const, tag: 0, value: node.certificate.subject }]),
    ...(has('email') ? [] : also('email', node.emailAddresses)),
    // Old clients use a common name as a host name.
    ...(isEnd && !has('DNS')
      ? also(
          'DNS',
          node.commonNames.filter((name) => dotted.test(name)),
        )
      : []),
  ]
}
