import type { X509Certificate } from 'node:crypto'
import { Failure } from '@warder/foundation/errors'
import type { IncomingRequest } from '@warder/foundation/operations'
import type { QueueOwner } from '@warder/foundation/runtime'
import {
  type Credential,
  findCredential,
  hashOwner,
  isNewUsername,
  isUsername,
  longestPassword,
  normalPassword,
  sessionClaims,
} from '../credentials/index.ts'
import { findRealm, type Realm } from '../realms/index.ts'
import type { AuthServices } from '../services.ts'
import type { Subject } from '../sessions/index.ts'
import type { Authorization } from './authorization.ts'
import { certificateSubject } from './client-certificate.ts'
import { LoginRefused } from './refusal.ts'

/** Somebody whose first proof holds. `credential` is set for passwords only. */
export interface Proven {
  readonly realm: Realm
  readonly subject: Subject
  readonly credential: Credential | undefined
  /** Identity provider that vouches for the subject: its `jwt_issuer_uri`. */
  readonly issuer?: string
}

type PrimaryServices = Pick<AuthServices, 'db' | 'hasher' | 'providers' | 'now'>

/** Checks the first proof: password, JWT or client certificate. @throws LoginRefused */
export async function provePrimary(
  services: PrimaryServices,
  realmId: string,
  authorization: Authorization | undefined,
  request: IncomingRequest,
): Promise<Proven> {
  const realm = await findRealm(services.db, realmId)
  switch (authorization?.kind) {
    case 'basic':
      return provePassword(services, realm, { ...authorization, owner: hashOwner(request, realmId) })
    case 'bearer':
      return proveToken(services, realm, authorization.token)
    case 'malformed':
      throw new LoginRefused('malformed_credentials')
    case undefined: {
      const certificate = verifiedCertificate(request)
      if (certificate === undefined) throw new LoginRefused('no_credentials')
      // The connection was made while it was valid, and may be kept for longer.
      if (certificate.validToDate.getTime() < services.now() * 1000)
        throw new LoginRefused('certificate_not_verified')
      if (realm === undefined) throw new LoginRefused('unknown_realm')
      return {
        realm,
        subject: await certificateSubject(services.db, realm, certificate),
        credential: undefined,
      }
    }
  }
}

/** A certificate that does not verify gets the answer that every wrong credential gets. @throws LoginRefused */
function verifiedCertificate(request: IncomingRequest): X509Certificate | undefined {
  try {
    return request.peerCertificate()
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized')
      throw new LoginRefused('certificate_not_verified')
    throw error
  }
}

/** A password as somebody gave it, and whom its hash is computed for. */
interface GivenPassword {
  readonly username: string
  readonly password: string
  readonly owner: QueueOwner
}

/** The same hash is computed whatever is wrong: realm, name or password. @throws LoginRefused */
export async function provePassword(
  services: Pick<AuthServices, 'db' | 'hasher'>,
  realm: Realm | undefined,
  { username, password, owner }: GivenPassword,
): Promise<Proven & { readonly credential: Credential }> {
  const open = realm?.auth_params.username_password_params !== undefined
  const credential =
    realm !== undefined && open && isUsername(username)
      ? await findCredential(services.db, realm.id, username)
      : undefined
  const tried = password.length > longestPassword * 4 ? '' : normalPassword(password)
  const right = await services.hasher.verify(credential?.passwordHash, tried, owner)
  if (realm === undefined) throw new LoginRefused('unknown_realm')
  if (!open) throw new LoginRefused('method_not_enabled')
  if (credential === undefined) throw new LoginRefused('unknown_user')
  if (!right || tried === '') throw new LoginRefused('wrong_password')
  const subject: Subject = {
    username: credential.username,
    scheme: 'up',
    certificateSha256: undefined,
    roles: credential.roles,
    extraClaims: sessionClaims(credential.extraClaims),
  }
  return { realm, subject, credential }
}

async function proveToken(
  services: PrimaryServices,
  realm: Realm | undefined,
  token: string,
): Promise<Proven> {
  if (realm === undefined) throw new LoginRefused('unknown_realm')
  const params = realm.auth_params.jwt_params
  if (params === undefined) throw new LoginRefused('method_not_enabled')
  const found = await services.providers.subjectOf(params, token)
  if (found === undefined || !isNewUsername(found.subject)) throw new LoginRefused('invalid_token')
  const { subject: username, issuer } = found
  return {
    realm,
    subject: { username, scheme: 'jwt', certificateSha256: undefined, roles: [], extraClaims: undefined },
    credential: undefined,
    issuer,
  }
}
