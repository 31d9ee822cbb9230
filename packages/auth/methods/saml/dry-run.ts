import { bucketKey, defineOperation, type Operation, post } from '@warder/server'
import Type from 'typebox'
import { realmAdmin } from '../../callers.ts'
import { RealmPath } from '../../realms/realm.ts'
import { SamlRefused } from './checks.ts'
import { type SamlServices, samlRealm } from './saml-realm.ts'
import { mapSubject } from './subject.ts'

const define = defineOperation<SamlServices>()

/** Validates a captured response. Creates no session and consumes nothing. */
export const dryRunOperations: readonly Operation<SamlServices>[] = [
  define({
    name: 'saml.test',
    reach: ['reveal attributes'],
    route: post('/realms/{realm_id}/saml/test'),
    summary: 'Check a captured SAML response against the settings of a realm',
    description:
      'Runs every check except replay and the binding to a login of this browser: the request is taken from its ' +
      'InResponseTo, and the time from its IssueInstant.',
    tag: 'SAML',
    access: realmAdmin,
    pathParameters: RealmPath,
    bodyLimit: 400_000,
    request: Type.Object({
      saml_response: Type.String({ description: 'The form field, in base64.', maxLength: 350_000 }),
    }),
    reply: Type.Object({
      accepted: Type.Boolean(),
      check: Type.Union([Type.String(), Type.Null()], { description: 'The failed check.' }),
      reason: Type.Union([Type.String(), Type.Null()]),
      subject: Type.Union([Type.String(), Type.Null()]),
      roles: Type.Array(Type.String()),
      claims: Type.Record(Type.String(), Type.Unknown()),
      attributes: Type.Array(Type.String(), { description: 'Names of the attributes of the assertion.' }),
    }),
    errors: { 400: 'There is no such realm, or it does not use SAML.' },
    async act({ path, body }, context) {
      const { services, request } = context
      context.audit({ realm: path.realm_id })
      const { settings } = await samlRealm(context, path.realm_id)
      const keys = await services.spKeys.list()
      const result = await services.samlVerification.validate(
        { client: bucketKey(request.clientAddress), tenant: path.realm_id },
        {
          field: new Uint8Array(Buffer.from(encodeURIComponent(body.saml_response))),
          expected: {
            idpEntityId: settings.idp_entity_id,
            idpCertificates: settings.idp_signing_certificates,
            spEntityId: settings.sp_entity_id,
            acsUrl: settings.sp_acs_url,
            requestId: undefined,
            now: undefined,
            decryptionKeys: keys.map(({ privateKey }) => privateKey),
          },
        },
      )
      const noUser = { subject: null, roles: [], claims: {}, attributes: [] }
      if ('refused' in result) {
        const { check, sentence } = result.refused
        return { accepted: false, check, reason: sentence, ...noUser }
      }
      const attributes = [...result.assertion.attributes.keys()]
      try {
        const { username, roles, extraClaims } = mapSubject(result.assertion, settings)
        const claims = { ...extraClaims }
        return {
          accepted: true,
          check: null,
          reason: null,
          subject: username,
          roles: [...roles],
          claims,
          attributes,
        }
      } catch (error) {
        if (!(error instanceof SamlRefused)) throw error
        return { accepted: false, check: error.code, reason: error.message, ...noUser, attributes }
      }
    },
  }),
]
