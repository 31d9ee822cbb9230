import type { Reply } from '@warder/client/browser'

export type Authority = Reply<'pki.authorities.list'>[number]

/** An authority, and those that it issued. */
export interface Branch {
  readonly authority: Authority
  readonly below: readonly Branch[]
}

/**
 * Sorts authorities into a tree: each below its issuer, those of one issuer by subject. Without its issuer in the list an
 * authority is a root.
 * Authorities can certify each other: each occurs once.
 */
export function toTree(authorities: readonly Authority[]): readonly Branch[] {
  const sorted = authorities.toSorted((one, other) => one.subject.localeCompare(other.subject))
  const ids = new Set(sorted.map(({ id }) => id))
  const isTop = ({ id, issuer }: Authority): boolean => issuer === null || issuer === id || !ids.has(issuer)
  const byIssuer = Map.groupBy(
    sorted.filter((each) => !isTop(each)),
    ({ issuer }) => issuer,
  )
  const placed = new Set<string>()
  const place = (authority: Authority): readonly Branch[] => {
    if (placed.has(authority.id)) return []
    placed.add(authority.id)
    return [{ authority, below: (byIssuer.get(authority.id) ?? []).flatMap(place) }]
  }
  return [...sorted.filter(isTop), ...sorted].flatMap(place)
}

/** The authorities of a tree, each before those below it. */
export const flatten = (branches: readonly Branch[]): readonly Authority[] =>
  branches.flatMap(({ authority, below }) => [authority, ...flatten(below)])

/** SHA-256 as certificate viewers show it: `AB:CD:…`. */
export const formatFingerprint = (hex: string): string => (hex.toUpperCase().match(/../g) ?? []).join(':')
