import { Failure, failure } from '@warder/base'
import {
  allUsers,
  externalPrefix,
  externalStoreNames,
  findLiveSubject,
  grantsOn,
  isGroupName,
  isGroupOrRoleName,
  ownsAnything,
  rolePrefix,
} from '@warder/keys'
import type { RestServices } from './services.ts'

type Services = Pick<RestServices, 'db' | 'roles' | 'defaultUsername' | 'directory'>

const machinePrefix = 'app:'

/** `machine`: no user has the name, but the machine `app:NAME` exists. `not told`: no service can look up the name. */
type Standing = 'known' | 'machine' | 'unknown' | 'undetermined'

/** Finds out if a user or machine has the name. @throws failure('overloaded') if the authentication service is down */
async function findStanding(services: Services, name: string): Promise<Standing> {
  // Groups are known by the grant itself; roles arrive with a login.
  if (isGroupName(name)) return 'known'
  if (name.startsWith(rolePrefix)) return 'undetermined'
  if (await isKnownHere(services, name)) return 'known'
  const { directory } = services
  if (directory === undefined) return 'undetermined'
  if (name.startsWith(machinePrefix)) {
    const { machine } = await directory.find(name.slice(machinePrefix.length))
    return machine === undefined ? 'undetermined' : machine ? 'known' : 'unknown'
  }
  const { user, machine } = await directory.find(name)
  if (user) return 'known'
  return machine === true ? 'machine' : 'unknown'
}

/** Names known without a look-up: past callers, owners, names in the settings, and names in a cloud's name space. */
async function isKnownHere({ db, roles, defaultUsername }: Services, name: string): Promise<boolean> {
  if (name === allUsers || name === defaultUsername || roles.officers.listed.has(name)) return true
  if (externalStoreNames.some((store) => name.startsWith(externalPrefix(store)))) return true
  return (await findLiveSubject(db, name)) || (await ownsAnything(db, name))
}

/**
 * Resolves the grantee if the caller requires a known name: a machine may be named without `app:` if no user has the
 * name. Without a service that can look it up, the name is used unchecked.
 * @throws failure('bad_request') when no user or machine has the name; failure('overloaded') when the look-up fails
 */
export async function requireGrantee(services: Services, name: string): Promise<string> {
  const standing = await findStanding(services, name)
  if (standing === 'machine') return `${machinePrefix}${name}`
  if (standing === 'unknown') throw unknownName(name)
  return name
}

function unknownName(name: string): Failure {
  return failure(
    'bad_request',
    `The user ${name} is not known: nothing was granted. Users of other realms are REALM/NAME, machines app:NAME. Without \`known\` (warder: with --anyway) the right is granted to any later user of this name.`,
  )
}

/** The grantee to revoke from, if a machine may be named without `app:`: the one of both names that has grants. */
export async function resolveGrantedName({ db }: Services, object: string, name: string): Promise<string> {
  if (name === allUsers || name.startsWith(machinePrefix) || isGroupOrRoleName(name)) return name
  const users = new Set((await grantsOn(db, object)).map(({ user }) => user))
  const machine = `${machinePrefix}${name}`
  return !users.has(name) && users.has(machine) ? machine : name
}

/** Whether a user or machine has the name of an existing grant; undefined: the look-up was not possible. */
export async function isKnownName(services: Services, name: string): Promise<boolean | undefined> {
  try {
    const standing = await findStanding(services, name)
    return standing === 'undetermined' ? undefined : standing === 'known'
  } catch (error) {
    if (error instanceof Failure && error.kind === 'overloaded') return undefined
    throw error
  }
}
