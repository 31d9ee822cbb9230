import { version } from '@warder/base'
import { publicAccess } from '@warder/keys'
import { get } from '@warder/server'
import Type from 'typebox'
import { define } from '../scope/services.ts'
import { dkePath } from './scope.ts'

/** Version for monitors of deployed key services; absent if a label names a key so. */
export const versionName = 'version'

/** `GET /ms_dke/version`: Microsoft's sample has none. */
export const versionOperation = define({
  name: 'ms_dke.version',
  route: get(`${dkePath}/${versionName}`),
  summary: 'The version of the key service',
  tag: 'Microsoft DKE',
  access: publicAccess,
  audited: false,
  reply: Type.String(),
  act: () => version,
})
