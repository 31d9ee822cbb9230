import { failure } from '@warder/foundation/errors'
import type { Principal } from '@warder/foundation/operations'
import { Tag } from '@warder/kmip/tables'
import {
  membersOf,
  optionalName,
  required,
  requiredStructure,
  type StructureNode,
  typed,
} from '@warder/kmip/ttlv'
import { principalNamed } from '../../identity/index.ts'
import type { KmsServices } from '../../rest/services.ts'

/** Credentials that one header may hold. */
const mostCredentials = 8

/**
 * Who the Authentication structure of a header says is asking (KMIP 2.1 §9.4): a user name and a password, checked at
 * the authentication service as a login over HTTP is. Credentials of another kind, or passwords where no such service
 * is configured, are refused: what is presented must be checked, or it would seem to have been.
 * @throws failure('unauthorized' | 'overloaded'), KmipDecodeError
 */
export async function checkedCredentials(
  services: KmsServices,
  authentication: StructureNode,
  clientAddress: string,
): Promise<Principal> {
  const credentials = membersOf(authentication, Tag.Credential)
  if (credentials.length === 0 || credentials.length > mostCredentials)
    throw failure('unauthorized', undefined, { detail: 'the header has no credential, or too many' })
  let principal: Principal | undefined
  for (const credential of credentials) {
    const found = await checked(services, typed(credential, 'Structure'), clientAddress)
    if (principal !== undefined && principal.name !== found.name)
      throw failure('unauthorized', undefined, { detail: 'the credentials are of different users' })
    principal = found
  }
  if (principal === undefined) throw failure('unauthorized')
  return principal
}

async function checked(
  services: KmsServices,
  credential: StructureNode,
  clientAddress: string,
): Promise<Principal> {
  const type = optionalName(credential, Tag.CredentialType, 'CredentialType')
  if (type !== 'UsernameAndPassword')
    throw failure('unauthorized', undefined, { detail: `credentials of type ${type} are not accepted` })
  const { passwordLogin } = services
  if (passwordLogin === undefined)
    throw failure('unauthorized', undefined, {
      detail: 'no authentication service is configured for passwords',
    })
  const value = requiredStructure(credential, Tag.CredentialValue)
  const username = required(value, Tag.Username, 'TextString')
  const principal = principalNamed(username, 'kmip_credential', passwordLogin.realm)
  const password = required(value, Tag.Password, 'TextString')
  const next = await passwordLogin.check(username, password, undefined, clientAddress)
  if (next !== 'Authenticated')
    throw failure('unauthorized', undefined, { detail: `the login wants something more: ${next}` })
  return services.forceDefaultUsername ? { ...principal, name: services.defaultUsername } : principal
}
