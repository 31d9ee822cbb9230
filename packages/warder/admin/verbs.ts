import { addAppRole, deleteAppRole, listAppRoles, newSecretId } from './approles.ts'
import { assignSubject, listSubjects, releaseSubject } from './jwt-subjects.ts'
import { listRealms } from './realms.ts'
import { samlVerb } from './saml.ts'
import { endSessions, listSessions } from './sessions.ts'
import { addUser, deleteUser, disableTotp, listUsers, resetPassword } from './users.ts'
import type { AdminVerb } from './verb.ts'

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
