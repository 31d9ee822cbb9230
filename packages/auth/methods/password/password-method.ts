import type { LoginMethod } from '../../login/method.ts'
import { credentialUnchanged, findCredential } from './credential-store.ts'
import { credentialOperations } from './operations.ts'
import { passwordChangeOperation } from './password-change.ts'
import { type PasswordServices, passwordProof, passwordSettings } from './prove.ts'

/** Login with a username and a password that the realm stores. */
export const password: LoginMethod<PasswordServices> = {
  name: 'password',
  scheme: 'up',
  settings: passwordSettings,
  first: passwordProof,
  opens: (_services, realm) => passwordSettings.of(realm) !== undefined,
  async user(db, realm, username) {
    const credential = await findCredential(db, realm.id, username)
    return credential === undefined ? undefined : credentialUnchanged(credential)
  },
  operations: (methods) => [passwordChangeOperation(methods), ...credentialOperations(methods)],
}
