import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { validatePath } from '@warder/pki'
import Type, { type Static } from 'typebox'
import type { Passkey } from './passkey-store.ts'
import type { AttestationPolicy, PasskeyPolicy, RelyingParty } from './relying-party.ts'

/** Reasons for which a response of an authenticator is refused, in the audit log. */
export type PasskeyProblem =
  | 'challenge'
  | 'origin'
  | 'rp_id'
  | 'user_verification'
  | 'signature'
  | 'counter'
  | 'unknown'
  | 'attestation'
  | 'algorithm'
  | 'malformed'

export class PasskeyRefused extends Error {
  readonly problem: PasskeyProblem

  constructor(problem: PasskeyProblem, options?: ErrorOptions) {
    super(`the passkey was refused: ${problem}`, options)
    this.name = 'PasskeyRefused'
    this.problem = problem
  }
}

const base64Url = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength })
/** Credential IDs have at most 1023 bytes (WebAuthn Level 3 §4). */
export const CredentialId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,1364}$' })
const common = {
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  authenticatorAttachment: Type.Optional(Type.String({ maxLength: 64 })),
  clientExtensionResults: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
}
const clientDataJSON = base64Url(8192)

/** `AuthenticationResponseJSON`, as `PublicKeyCredential.toJSON()` returns it. */
export const AssertionInput = Type.Object(
  {
    ...common,
    response: Type.Object({
      clientDataJSON,
      authenticatorData: base64Url(8192),
      signature: base64Url(2048),
      userHandle: Type.Optional(base64Url(128)),
    }),
  },
  { description: 'AuthenticationResponseJSON (WebAuthn Level 3 §5.1).' },
)
export type Assertion = Static<typeof AssertionInput>

/** `RegistrationResponseJSON`, as `PublicKeyCredential.toJSON()` returns it. */
export const RegistrationInput = Type.Object(
  {
    ...common,
    response: Type.Object({
      clientDataJSON,
      attestationObject: base64Url(65_536),
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 16 })),
      authenticatorData: Type.Optional(base64Url(8192)),
      publicKey: Type.Optional(base64Url(8192)),
      publicKeyAlgorithm: Type.Optional(Type.Integer()),
    }),
  },
  { description: 'RegistrationResponseJSON (WebAuthn Level 3 §5.1).' },
)
export type Registration = Static<typeof RegistrationInput>

/** COSE algorithms by preference: Ed25519, ES256 with P-256, RS256. */
export const algorithms = [-8, -7, -257] as const
/** Members of a COSE_Key: algorithm, curve, modulus. */
const [coseAlgorithm, coseCurve, coseModulus] = [3, -1, -1]
const [p256, ed25519] = [1, 6]
const minModulusBytes = 256

/** Loaded at the first use of a passkey. */
const loadLibrary = () => import('@simplewebauthn/server')
const loadHelpers = () => import('@simplewebauthn/server/helpers')

/** Problems by the messages of the library; other messages mean a malformed response. */
const problems: readonly (readonly [RegExp, PasskeyProblem])[] = [
  [/^(?:Unexpected \w+ response challenge|Custom challenge)/, 'challenge'],
  [/^Unexpected \w+ response origin/, 'origin'],
  [/^Unexpected RP ID/, 'rp_id'],
  [/^User (?:verification|presence|not present)/, 'user_verification'],
  [/^Unexpected public key alg/, 'algorithm'],
  [/\((?:Packed|Packed\|Full)\)$/, 'attestation'],
]

function toRefusal(error: unknown): PasskeyRefused {
  if (error instanceof PasskeyRefused) return error
  const message = error instanceof Error ? error.message : String(error)
  const problem = problems.find(([pattern]) => pattern.test(message))?.[1] ?? 'malformed'
  return new PasskeyRefused(problem, { cause: error })
}

/** Pages in frames of other origins may not use passkeys (WebAuthn Level 3 §7.1 step 10, §7.2 step 12). */
function refuseCrossOrigin(clientData: string): void {
  const data: unknown = JSON.parse(Buffer.from(clientData, 'base64url').toString('utf8'))
  const isTopLevel =
    typeof data === 'object' && data !== null && !('crossOrigin' in data && data.crossOrigin !== false)
  if (!isTopLevel || 'topOrigin' in data) throw new PasskeyRefused('origin')
}

/** A use of a passkey whose response is valid. */
interface Verified {
  readonly signCount: number
  readonly backedUp: boolean
}

/**
 * Verifies the response of an authenticator (WebAuthn Level 3 §7.2), with user verification. The counter is compared
 * after the signature: only the authenticator can report that it went back.
 * @throws PasskeyRefused
 */
export async function verifyAssertion(
  { id, origins }: RelyingParty,
  challenge: string,
  passkey: Passkey,
  assertion: Assertion,
): Promise<Verified> {
  const { verifyAuthenticationResponse } = await loadLibrary()
  const verification = await attempt(async () => {
    refuseCrossOrigin(assertion.response.clientDataJSON)
    return verifyAuthenticationResponse({
      response: assertion as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      credential: { id: passkey.id, publicKey: Uint8Array.from(passkey.publicKey), counter: 0 },
      requireUserVerification: true,
    })
  })
  if (!verification.verified) throw new PasskeyRefused('signature')
  const {
    newCounter: signCount,
    credentialBackedUp: backedUp,
    credentialDeviceType,
  } = verification.authenticationInfo
  // §7.2 step 20: the eligibility for backups never changes.
  if ((credentialDeviceType === 'multiDevice') !== passkey.backupEligible)
    throw new PasskeyRefused('malformed')
  const counts = signCount > 0 || passkey.signCount > 0
  if (counts && signCount <= passkey.signCount) throw new PasskeyRefused('counter')
  return { signCount, backedUp }
}

async function attempt<R>(run: () => Promise<R>): Promise<R> {
  try {
    return await run()
  } catch (error) {
    throw toRefusal(error)
  }
}

type NewKey = Pick<
  Passkey,
  'id' | 'publicKey' | 'signCount' | 'backupEligible' | 'backedUp' | 'aaguid' | 'transports'
>

/**
 * Verifies a registration (WebAuthn Level 3 §7.1), with user verification. Without an attestation policy only the
 * formats `none` and self attestation occur, since clients remove others. No format that the library would fetch
 * revocation lists for is accepted.
 * @param at Unix milliseconds
 * @throws PasskeyRefused
 */
export async function verifyRegistration(
  policy: PasskeyPolicy & { readonly relyingParty: RelyingParty },
  challenge: string,
  registration: Registration,
  at: number,
): Promise<NewKey> {
  const { verifyRegistrationResponse } = await loadLibrary()
  const { decodeAttestationObject } = await loadHelpers()
  const { id, origins } = policy.relyingParty
  const verification = await attempt(async () => {
    refuseCrossOrigin(registration.response.clientDataJSON)
    const object = decodeAttestationObject(Buffer.from(registration.response.attestationObject, 'base64url'))
    const statement = object.get('attStmt')
    checkFormat(object.get('fmt'), statement.get('x5c'), policy.attestation, at)
    return verifyRegistrationResponse({
      response: registration as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: [...algorithms],
    })
  })
  if (!verification.verified) throw new PasskeyRefused('attestation')
  const { credential, aaguid, credentialDeviceType, credentialBackedUp } = verification.registrationInfo
  if (credential.id !== registration.id) throw new PasskeyRefused('malformed')
  if (policy.attestation?.aaguids.has(aaguid) === false) throw new PasskeyRefused('attestation')
  await requireStrongKey(credential.publicKey)
  return {
    id: credential.id,
    publicKey: credential.publicKey,
    signCount: credential.counter,
    backupEligible: credentialDeviceType === 'multiDevice',
    backedUp: credentialBackedUp,
    aaguid,
    transports: registration.response.transports ?? [],
  }
}

/** @throws PasskeyRefused */
function checkFormat(
  format: string,
  chain: readonly Uint8Array[] | undefined,
  policy: AttestationPolicy | undefined,
  at: number,
): void {
  if (policy === undefined) {
    if (format === 'none' || (format === 'packed' && chain === undefined)) return
    throw new PasskeyRefused('attestation')
  }
  const [certificate, ...others] = chain ?? []
  if (format !== 'packed' || certificate === undefined) throw new PasskeyRefused('attestation')
  const { validity } = validatePath({ certificate, others, anchors: policy.anchors, at })
  if (validity !== 'Valid') throw new PasskeyRefused('attestation')
}

/** The curve that belongs to the algorithm (WebAuthn Level 3 §5.8.5), and RSA of at least 2048 bits. */
async function requireStrongKey(publicKey: Uint8Array): Promise<void> {
  const { decodeCredentialPublicKey } = await loadHelpers()
  const key = decodeCredentialPublicKey(Uint8Array.from(publicKey)) as unknown as ReadonlyMap<number, unknown>
  const algorithm = key.get(coseAlgorithm)
  const modulus = key.get(coseModulus)
  const isStrong =
    algorithm === -257
      ? modulus instanceof Uint8Array && modulus.length >= minModulusBytes && modulus[0] !== 0
      : key.get(coseCurve) === (algorithm === -7 ? p256 : ed25519)
  if (!isStrong) throw new PasskeyRefused('algorithm')
}
