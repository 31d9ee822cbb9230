import { addAdmin, changeAdmin, deleteAdmin, listAdmins, showAdmin } from './admins.ts'
import { addAppRole, changeAppRole, deleteAppRole, listAppRoles, showAppRole } from './approles.ts'
import { assignSubject, listSubjects, releaseSubject } from './jwt-subjects.ts'
import { changeRealm, createRealm, deleteRealm, listRealms, showRealm } from './realms.ts'
import { samlVerb } from './saml.ts'
import { setSaml } from './saml-settings.ts'
import { destroySecretId, listSecretIds, newSecretId } from './secret-ids.ts'
import { endSessions, listSessions } from './sessions.ts'
import { disableTotp, enrollTotp, linkTotp } from './totp.ts'
import { addUser, changeUser, deleteUser, listUsers, resetPassword, showUser } from './users.ts'
import type { AdminVerb } from './verb.ts'

/** The verbs of `warder admin`, in the order of its help. */
export const verbs: readonly AdminVerb[] = [
  listRealms,
  showRealm,
  createRealm,
  changeRealm,
  deleteRealm,
  listAdmins,
  showAdmin,
  addAdmin,
  changeAdmin,
  deleteAdmin,
  listUsers,
  showUser,
  addUser,
  changeUser,
  resetPassword,
  deleteUser,
  linkTotp,
  enrollTotp,
  disableTotp,
  listSubjects,
  assignSubject,
  releaseSubject,
  setSaml,
  samlVerb,
  listSessions,
  endSessions,
  listAppRoles,
  showAppRole,
  addAppRole,
  changeAppRole,
  deleteAppRole,
  newSecretId,
  listSecretIds,
  destroySecretId,
]
