import { type Counters, Failure, type Metrics } from '@warder/base'

/**
 * Outcome of a login. Closed sets only: neither the realm, the name nor the wrong part of the credential, which an
 * attacker could use.
 */
const methods = [
  'basic',
  'bearer',
  'certificate',
  'malformed',
  'approle',
  'orchestrator',
  'saml',
  'passkey',
] as const
const refusals = ['refused', 'throttled', 'overloaded', 'failed'] as const
const outcomes = ['authenticated', 'totp_required', 'change_password', ...refusals] as const
const sessionEvents = ['begun', 'logged_out', 'revoked', 'swept'] as const
const tokenEvents = ['issued', 'renewed', 'revoked', 'swept'] as const
const logoutOutcomes = ['by_idp', 'answered', 'refused'] as const
const refreshOutcomes = ['unchanged', 'changed', 'failed'] as const

export type LoginMethod = (typeof methods)[number]
export type LoginOutcome = (typeof outcomes)[number]
type LoginRefusal = (typeof refusals)[number]

/** Counters of this service; `auth_saml_responses_total` is declared next to its outcomes. */
export const authCounters: Counters = {
  auth_logins_total: { method: methods, outcome: outcomes },
  auth_sessions_total: { event: sessionEvents },
  auth_tokens_total: { event: tokenEvents },
  auth_saml_logouts_total: { outcome: logoutOutcomes },
  auth_saml_metadata_refreshes_total: { outcome: refreshOutcomes },
}

/** Runs a login and counts it as `auth_logins_total{method, outcome}`. @throws the error of the login */
export async function countLogin<R>(
  metrics: Metrics,
  method: LoginMethod,
  login: () => Promise<R>,
  toOutcome: (result: R) => LoginOutcome,
): Promise<R> {
  try {
    const result = await login()
    metrics.count('auth_logins_total', { method, outcome: toOutcome(result) })
    return result
  } catch (error) {
    metrics.count('auth_logins_total', { method, outcome: toLoginRefusal(error) })
    throw error
  }
}

function toLoginRefusal(error: unknown): LoginRefusal {
  if (!(error instanceof Failure)) return 'failed'
  if (error.kind === 'rate_limited') return 'throttled'
  if (error.kind === 'overloaded') return 'overloaded'
  return error.status < 500 ? 'refused' : 'failed'
}

/**
 * Sessions created, logged out, revoked (with their password, credential or realm) and swept:
 * `auth_sessions_total{event}`.
 */
export function countSessions(metrics: Metrics, event: (typeof sessionEvents)[number], by = 1): void {
  if (by > 0) metrics.count('auth_sessions_total', { event }, by)
}

/** Machine tokens issued, renewed, revoked (by their holders, or with their role or realm) and swept: `auth_tokens_total{event}`. */
export function countTokens(metrics: Metrics, event: (typeof tokenEvents)[number], by = 1): void {
  if (by > 0) metrics.count('auth_tokens_total', { event }, by)
}

/** Counts responses of identity providers: `auth_saml_responses_total{outcome}`. @param outcome `accepted`, or the check that failed */
export function countSamlResponse(metrics: Metrics, outcome: string): void {
  metrics.count('auth_saml_responses_total', { outcome })
}

/**
 * SAML single logouts: `auth_saml_logouts_total{outcome}`, initiated by an identity provider, answered by it, or
 * refused.
 */
export function countSamlLogout(metrics: Metrics, outcome: (typeof logoutOutcomes)[number]): void {
  metrics.count('auth_saml_logouts_total', { outcome })
}

/** Fetches of identity provider metadata: `auth_saml_metadata_refreshes_total{outcome}`. */
export function countSamlRefresh(metrics: Metrics, outcome: (typeof refreshOutcomes)[number]): void {
  metrics.count('auth_saml_metadata_refreshes_total', { outcome })
}
