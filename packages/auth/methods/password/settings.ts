import Type from 'typebox'
import { methodSettings } from '../../realms/method-settings.ts'

/** Whether a realm accepts logins with passwords. */
export const passwordSettings = methodSettings(
  'username_password_params',
  Type.Object({ allow_expired_passwords: Type.Boolean() }),
)
