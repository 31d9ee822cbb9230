import { anyPolicy } from '../policies.ts'
import type { PathNode } from './node.ts'

/** Policy requirements of the caller (RFC 5280 §6.1.1 c to g). */
export interface PolicyWish {
  /** Acceptable policies; default: all. */
  readonly acceptable?: readonly string[]
  readonly requireExplicit?: boolean
  readonly inhibitMapping?: boolean
  readonly inhibitAny?: boolean
}

/**
 * Valid policies after a certificate. Each one is mapped to the policies, as named by the certificate below the
 * anchor, that it is equivalent to: RFC 9618 replaces the tree of RFC 5280 §6.1.2, which grows exponentially, by this
 * structure.
 */
interface Held {
  readonly named: ReadonlyMap<string, ReadonlySet<string>>
  readonly any: boolean
}

/** @param path from the anchor to the end @returns the valid policies, or the reason why the path is invalid */
export function pathPolicies(
  path: readonly PathNode[],
  wish: PolicyWish = {},
): { readonly policies: readonly string[]; readonly problem?: undefined } | { readonly problem: string } {
  const below = path.slice(1)
  let held: Held = { named: new Map(), any: true }
  let explicit = wish.requireExplicit === true ? 0 : below.length + 1
  let mapping = wish.inhibitMapping === true ? 0 : below.length + 1
  let any = wish.inhibitAny === true ? 0 : below.length + 1
  for (const [index, node] of below.entries()) {
    const isEnd = index === below.length - 1
    held = narrowPolicies(held, node, any > 0 || (!isEnd && node.isSelfIssued))
    const { requireExplicit, inhibitMapping } = node.policyConstraints
    if (explicit === 0 && isEmpty(held))
      return { problem: `No policy is valid at the certificate of ${node.who}.` }
    if (isEnd) {
      // RFC 5280 §6.1.5 a and b: also when the last certificate is issued to its own issuer.
      explicit = less(explicit)
      if (requireExplicit === 0) explicit = 0
      break
    }
    if (node.policyMappings.some((pair) => pair.includes(anyPolicy)))
      return { problem: `The certificate of ${node.who} maps anyPolicy.` }
    held = mapPolicies(held, node, mapping > 0)
    if (!node.isSelfIssued) [explicit, mapping, any] = [less(explicit), less(mapping), less(any)]
    explicit = Math.min(explicit, requireExplicit ?? explicit)
    mapping = Math.min(mapping, inhibitMapping ?? mapping)
    any = Math.min(any, node.inhibitAnyPolicy ?? any)
  }
  const policies = acceptPolicies(held, wish.acceptable)
  if (explicit === 0 && policies.length === 0) return { problem: 'No policy of the path is accepted.' }
  return { policies }
}

function less(number: number): number {
  return Math.max(0, number - 1)
}

function isEmpty({ named, any }: Held): boolean {
  return !any && named.size === 0
}

/** RFC 5280 §6.1.3 d and e. */
function narrowPolicies(held: Held, { policies }: PathNode, anyCounts: boolean): Held {
  if (policies === undefined) return { named: new Map(), any: false }
  const named = new Map<string, ReadonlySet<string>>()
  for (const policy of policies) {
    if (policy === anyPolicy) continue
    const before = held.named.get(policy) ?? (held.any ? new Set([policy]) : undefined)
    if (before !== undefined) named.set(policy, before)
  }
  if (!anyCounts || !policies.includes(anyPolicy)) return { named, any: false }
  for (const [policy, before] of held.named) if (!named.has(policy)) named.set(policy, before)
  return { named, any: held.any }
}

/** RFC 5280 §6.1.4 b. */
function mapPolicies(held: Held, { policyMappings }: PathNode, mayMap: boolean): Held {
  if (policyMappings.length === 0) return held
  const named = new Map(held.named)
  const made = new Map<string, Set<string>>()
  for (const [issuer, subject] of policyMappings) {
    const before = held.named.get(issuer) ?? (held.any ? new Set([issuer]) : undefined)
    named.delete(issuer)
    if (before === undefined || !mayMap) continue
    const into = made.get(subject) ?? new Set()
    for (const policy of before) into.add(policy)
    made.set(subject, into)
  }
  for (const [policy, before] of made) named.set(policy, new Set([...(named.get(policy) ?? []), ...before]))
  return { named, any: held.any }
}

/** RFC 5280 §6.1.5 g. */
function acceptPolicies({ named, any }: Held, acceptable: readonly string[] | undefined): readonly string[] {
  const held = new Set([...named.values()].flatMap((policies) => [...policies]))
  if (acceptable === undefined || acceptable.includes(anyPolicy))
    return [...held, ...(any ? [anyPolicy] : [])]
  return acceptable.filter((policy) => any || held.has(policy))
}
