import Type from 'typebox'
import { methodSettings, nullable } from '../../realms/method-settings.ts'

/** The client certificates that a realm accepts; without a list, every certificate that the client CA signed. */
export const certificateSettings = methodSettings(
  'client_certificate_params',
  Type.Object({
    allowed_common_names: nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 10_000 }),
    ),
  }),
)
