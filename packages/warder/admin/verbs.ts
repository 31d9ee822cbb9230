import { formatTable, requireNoNames } from '@warder/command-line'
import { addAppRole, deleteAppRole, listAppRoles, newSecretId } from './approles.ts'
import { assignSubject, listSubjects, releaseSubject } from './jwt-subjects.ts'
import { samlVerb } from './saml.ts'
import { endSessions, listSessions } from './sessions.ts'
import { addUser, deleteUser, disableTotp, listUsers, resetPassword } from './users.ts'
import { type AdminVerb, adminVerb } from './verb.ts'

interface Realm {
  readonly id: string
  readonly auth_params: Readonly<Record<string, unknown>>
  readonly session_max_age_seconds: number
  readonly session_max_stale_age_seconds: number
}

const ways: Readonly<Record<string, string>> = {
  username_password_params: 'password',
  jwt_params: 'JWT',
  client_certificate_params: 'certificate',
  saml_params: 'SAML',
}

const listRealms = adminVerb({
  name: 'realms',
  words: '',
  summary: 'List the realms that you administer and their login methods',
  examples: ['warder admin realms'],
  options: {},
  parse(_, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const realms = await api.pages<Realm>('/admins/realms', ({ id }) => id)
      const rows = realms.map((realm) => [
        realm.id,
        Object.keys(realm.auth_params)
          .flatMap((name) => ways[name] ?? [])
          .join(', '),
        `${realm.session_max_age_seconds} s`,
        `${realm.session_max_stale_age_seconds} s`,
      ])
      const headings = ['REALM', 'LOGIN BY', 'SESSION', 'IDLE']
      show(realms, formatTable(headings, rows, 'you administer no realm'))
    }
  },
})

/** The verbs of `warder admin`, in the order of its help. */
export const verbs: readonly AdminVerb[] = [
  listRealms,
  listUsers,
  addUser,
  resetPassword,
  disableTotp,
  deleteUser,
  listSubjects,
  assignSubject,
  releaseSubject,
  samlVerb,
  listSessions,
  endSessions,
  listAppRoles,
  addAppRole,
  newSecretId,
  deleteAppRole,
]
