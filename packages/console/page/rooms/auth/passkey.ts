import type { AuthInput } from '@warder/client/browser'
import { texts } from '../../texts.ts'

type Assertion = AuthInput<'passkeys.login'>['body']['credential']
type Attestation = AuthInput<'passkeys.register'>['body']['credential']

export const hasPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** A refusal of the browser is not that of the service. */
export function describePasskeyError(error: unknown): unknown {
  return error instanceof DOMException ? texts.signIn.passkeyFailed : error
}

function requireCredential(credential: Credential | null): PublicKeyCredential {
  if (credential instanceof PublicKeyCredential) return credential
  throw new DOMException('no passkey', 'NotAllowedError')
}

/**
 * Asks the authenticator for a passkey.
 * @param options PublicKeyCredentialRequestOptionsJSON of the service
 * @throws DOMException when the user or the browser refuses
 */
export async function requestPasskey(options: unknown): Promise<Assertion> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  )
  return requireCredential(await navigator.credentials.get({ publicKey })).toJSON() as Assertion
}

/**
 * Creates a passkey on an authenticator.
 * @param options PublicKeyCredentialCreationOptionsJSON of the service
 * @throws DOMException when the user or the browser refuses
 */
export async function createPasskey(options: unknown): Promise<Attestation> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as PublicKeyCredentialCreationOptionsJSON,
  )
  return requireCredential(
    await navigator.credentials.create({ publicKey }),
  ).toJSON() as unknown as Attestation
}
