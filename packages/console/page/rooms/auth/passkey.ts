import type { AuthInput } from '@warder/client/browser'

type Assertion = AuthInput<'passkeys.login'>['body']['credential']

export const hasPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/**
 * Asks the authenticator for a passkey.
 * @param options PublicKeyCredentialRequestOptionsJSON of the service
 * @throws DOMException when the user or the browser refuses
 */
export async function requestPasskey(options: unknown): Promise<Assertion> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as PublicKeyCredentialRequestOptionsJSON,
  )
  const credential = await navigator.credentials.get({ publicKey })
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException('no passkey', 'NotAllowedError')
  return credential.toJSON() as Assertion
}
