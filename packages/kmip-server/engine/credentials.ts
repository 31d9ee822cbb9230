import { principalNamed, unauthorized } from '@warder/keys'
import {
  Enumeration,
  findMember,
  findMembers,
  optionalName,
  requireMember,
  requireStructure,
  requireType,
  type StructureNode,
  Tag,
} from '@warder/kmip-codec'
import type { Principal } from '@warder/server'
import type { KmipServices } from './services.ts'

/** Maximum number of credentials in one header. */
const maxCredentials = 8

interface Password {
  readonly username: string
  readonly password: string
}

/**
 * Authenticates the caller from the Authentication structure of a header (KMIP 2.1 §9.4): a user name and a password,
 * which the authentication service verifies as for a login over HTTP. Several credentials must be equal, so a message
 * costs at most one login. Credentials of another type, and passwords without a configured authentication service, are
 * refused: accepting them unchecked would suggest that they were verified.
 * @throws failure('unauthorized' | 'overloaded'), KmipDecodeError
 */
export async function checkCredentials(
  services: KmipServices,
  authentication: StructureNode,
  clientAddress: string,
): Promise<Principal> {
  const credentials = findMembers(authentication, Tag.Credential)
  if (credentials.length > maxCredentials) throw unauthorized('the header has too many credentials')
  const [given, ...others] = credentials.map((credential) =>
    readPassword(requireType(credential, 'Structure')),
  )
  if (given === undefined) throw unauthorized('the header has no credential')
  if (others.some(({ username, password }) => username !== given.username || password !== given.password))
    throw unauthorized('the credentials differ')
  return checkPassword(services, given, clientAddress)
}

/** @throws failure('unauthorized'), KmipDecodeError */
function readPassword(credential: StructureNode): Password {
  const type = optionalName(credential, Tag.CredentialType, 'CredentialType')
  if (type !== 'UsernameAndPassword') throw unauthorized(`credentials of type ${type} are not accepted`)
  const value = requireStructure(credential, Tag.CredentialValue)
  return {
    username: requireMember(value, Tag.Username, 'TextString'),
    password: requireMember(value, Tag.Password, 'TextString'),
  }
}

/** Whether the Authentication structure contains only user names with passwords. */
export function isPasswordOnly(authentication: StructureNode): boolean {
  const password = Enumeration.CredentialType.UsernameAndPassword
  return (
    authentication.value.length > 0 &&
    authentication.value.every(
      (credential) =>
        credential.tag === Tag.Credential &&
        credential.type === 'Structure' &&
        findMember(credential, Tag.CredentialType)?.value === password,
    )
  )
}

async function checkPassword(
  services: KmipServices,
  { username, password }: Password,
  clientAddress: string,
): Promise<Principal> {
  const { passwordLogin } = services
  if (passwordLogin === undefined) throw unauthorized('no authentication service is configured for passwords')
  const user = passwordLogin.user(username)
  const principal = principalNamed(user.name, 'kmip_credential', user.realm)
  const answer = await passwordLogin.check(user, password, undefined, clientAddress)
  const { nextStep, subjectId } = answer
  if (nextStep !== 'Authenticated') throw unauthorized(`the login requires another step: ${nextStep}`)
  if (subjectId !== undefined) await services.names.claim(user.name, subjectId)
  await services.blocks.require(principal)
  if (services.forceDefaultUsername) return { ...principal, name: services.defaultUsername }
  return passwordLogin.withRoles(principal, user, answer)
}
