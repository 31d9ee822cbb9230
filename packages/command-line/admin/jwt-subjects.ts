import { requireNoNames, requireOneName } from '../commands/options.ts'
import { formatTable, formatTime, printable } from '../terminal/table.ts'
import { adminVerb, realmOption } from './verb.ts'

/** A name that is bound to an identity provider, in the form of the API. */
interface JwtSubject {
  readonly subject: string
  readonly jwt_issuer_uri: string
  readonly assigned: boolean
  readonly created_at: number
}

const getSubjectsPath = (realm: string): string => `/realms/${encodeURIComponent(realm)}/jwt-subjects`
export const getSubjectPath = (realm: string, subject: string): string =>
  `${getSubjectsPath(realm)}/${encodeURIComponent(subject)}`
const describeSubject = (realm: string, subject: string): string =>
  `${printable(subject)} of realm ${printable(realm)}`

export const listSubjects = adminVerb({
  name: 'jwt-subjects',
  words: '',
  summary: 'List the names of a realm that are bound to its identity providers',
  examples: ['warder admin jwt-subjects --realm shop'],
  options: { realm: realmOption },
  parse({ realm }, names) {
    requireNoNames(names)
    return async ({ api, show }) => {
      const subjects = await api.pages<JwtSubject>(getSubjectsPath(realm), ({ subject }) => subject)
      const rows = subjects.map(({ subject, jwt_issuer_uri, assigned, created_at }) => [
        subject,
        jwt_issuer_uri,
        assigned ? 'assigned' : 'first login',
        formatTime(created_at),
      ])
      const headings = ['NAME', 'IDENTITY PROVIDER', 'HOW', 'SINCE']
      show(
        subjects,
        formatTable(headings, rows, `no name is bound to an identity provider in realm ${printable(realm)}`),
      )
    }
  },
})

export const assignSubject = adminVerb({
  name: 'assign-jwt-subject',
  words: 'NAME',
  summary: 'Bind a name to one of the identity providers of a realm',
  examples: ['warder admin assign-jwt-subject ann --realm shop --issuer https://login.example.com'],
  options: {
    realm: realmOption,
    issuer: {
      type: 'text',
      value: 'URL',
      required: true,
      help: 'the identity provider, as the realm names it',
    },
  },
  parse({ realm, issuer }, names) {
    const subject = requireOneName(names, 'name: warder admin assign-jwt-subject NAME --realm R --issuer URL')
    return async ({ api, show, confirm }) => {
      const to = printable(issuer)
      await confirm(
        `Bind ${describeSubject(realm, subject)} to ${to}? If it is bound to another provider, its sessions end.`,
      )
      const assigned = await api.ask('PUT', getSubjectPath(realm, subject), { jwt_issuer_uri: issuer })
      show(assigned, [`${describeSubject(realm, subject)} is bound to ${to}`])
    }
  },
})

export const releaseSubject = adminVerb({
  name: 'release-jwt-subject',
  words: 'NAME',
  summary: 'Unbind a name; the provider of the next user who logs in with it gets it',
  examples: ['warder admin release-jwt-subject ann --realm shop'],
  options: { realm: realmOption },
  parse({ realm }, names) {
    const subject = requireOneName(names, 'name: warder admin release-jwt-subject NAME --realm R')
    return async ({ api, show, confirm }) => {
      await confirm(`Unbind ${describeSubject(realm, subject)} and end its sessions?`)
      await api.ask('DELETE', getSubjectPath(realm, subject))
      show({ released: { realm, subject } }, [
        `${describeSubject(realm, subject)} is unbound: the next login with it binds it to the provider of that login`,
      ])
    }
  },
})
