import type { AuditFields } from './types.ts'

/** What a record says of a request so far, and more: what is said again takes the place of what was, details add up. */
export function mergedAuditFields(before: AuditFields | undefined, more: AuditFields): AuditFields {
  if (before === undefined) return more
  if (before.details === undefined || more.details === undefined) return { ...before, ...more }
  return { ...before, ...more, details: { ...before.details, ...more.details } }
}
