import { JwtRejected, type PeekedToken, verifyToken } from '@warder/server'
import { type Claims, leewaySeconds, requireText } from './claims.ts'
import type { AuthorizationIssuer } from './issuers.ts'
import type { TokenSources } from './sources.ts'

/**
 * `npm run clouds -- google` plays Google and the identity provider with tokens that the owner of the trial key has it
 * sign. They are accepted for resources of this beginning alone, which Google does not use: what was wrapped for a
 * user's resource does not open for one of a trial.
 */
const trialResources = 'warder-trial/'

export function isTrialResource(name: string): boolean {
  return name.startsWith(trialResources)
}

const trialAudience = 'warder-trial'

export const trialApplication: AuthorizationIssuer = {
  application: 'trial',
  issuer: 'trial',
  // No role of mail: wrapped private keys belong to no resource, so that none of them could be of a trial alone.
  roles: ['reader', 'writer', 'upgrader', 'verifier'],
  resourceBytes: 128,
}

/** Verifies a token of a trial. @throws JwtRejected */
export async function verifyTrial(token: PeekedToken, sources: TokenSources): Promise<Claims> {
  const keys = sources.trialKeys
  if (keys === undefined) throw new JwtRejected('the settings have no trial key')
  const expected = {
    issuer: sources.trialIssuer,
    audience: [trialAudience],
    requiredClaims: ['exp', 'iat'],
    leewaySeconds,
    algorithms: ['RS256'],
  }
  const { claims } = await verifyToken(token, keys, expected, sources.clock)
  if (Number(claims.exp) - Number(claims.iat) > maxSeconds)
    throw new JwtRejected('a trial token is valid for at most ten minutes')
  if (!isTrialResource(requireText(claims, 'resource_name', 128)))
    throw new JwtRejected(`a trial resource must begin with ${trialResources}`)
  return claims
}

const maxSeconds = 600
