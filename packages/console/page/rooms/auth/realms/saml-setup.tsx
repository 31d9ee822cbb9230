import { auth } from '../../../api.ts'
import { Act, ActForm, type Values } from '../../../parts/act-form.tsx'
import { readWords, toCommand } from '../../../parts/command.ts'
import { Check, Field } from '../../../parts/field.tsx'
import { texts } from '../../../texts.ts'
import { type Realm, readParams } from './realm.ts'
import {
  areClaims,
  findEntityId,
  loopbackOrigin,
  readClaims,
  type StoredSaml,
  toSamlParams,
} from './saml-params.ts'

const words = texts.saml
const isHttps = (text: string): boolean => /^https:\/\/[^\s@]+$/.test(text)

/** The command for the values of the form. Pasted metadata are in a file for it. */
const toSetSaml = (realm: string, values: Values): string =>
  toCommand('warder admin set-saml', [realm], {
    metadata: values.newer || (values.metadata?.trim() ? 'idp.xml' : undefined),
    'base-url': values.base,
    'return-url': values.back,
    'return-origin': readWords(values.origins),
    terminal: values.terminal === 'yes',
    'subject-attribute': values.subject,
    'role-attribute': values.roles,
    claim: readClaims(values.claims).map(([attribute, claim]) => `${attribute}=${claim}`),
    'same-users': values.same === 'yes',
  })

/** Settings of SAML. Another identity provider, or another attribute of the subject, has other users. */
export function SamlSetup({ realm, saml }: { readonly realm: Realm; readonly saml: StoredSaml | undefined }) {
  const replace = auth.useAct('realms.replace')
  const { id, auth_params: _, ...ages } = realm
  const warn = (values: Values) => {
    if (saml === undefined || values.same === 'yes') return undefined
    const next = findEntityId(values.metadata ?? '') ?? saml.idp_entity_id
    const isSame = next === saml.idp_entity_id && (saml.subject_attribute ?? '') === (values.subject ?? '')
    if (isSame) return undefined
    return {
      verb: words.save,
      title: words.replaceTitle(id),
      children: (
        <>
          <p>
            <bdi>{words.replaceIdp(saml.idp_entity_id, next)}</bdi>
          </p>
          <p>{words.replaceEnds}</p>
        </>
      ),
    }
  }
  const act = (values: Values): Promise<unknown> =>
    replace.mutateAsync({
      path: { realm_id: id },
      body: {
        ...ages,
        auth_params: { ...readParams(realm), saml_params: toSamlParams(id, saml, values) },
      },
    })
  return (
    <Act title={saml === undefined ? words.setUp : words.change}>
      <ActForm
        submit={words.save}
        done={words.saved}
        command={(values) => toSetSaml(id, values)}
        warn={warn}
        act={act}
      >
        <Fields saml={saml} />
      </ActForm>
    </Act>
  )
}

function Fields({ saml }: { readonly saml: StoredSaml | undefined }) {
  const base = saml?.sp_acs_url.replace(/\/saml\/[^/]+\/acs$/, '') ?? window.location.origin
  const origins = saml?.allowed_return_origins ?? []
  const claims = Object.entries(saml?.attribute_claim_map ?? {}).map((pair) => pair.join('='))
  const checkAddress = (text: string): string | null =>
    text === '' || isHttps(text) ? null : words.httpsRule
  return (
    <>
      <Field
        label={words.idpMetadata}
        name="metadata"
        isLong
        help={saml === undefined ? words.idpMetadataHelp : words.idpMetadataKept}
        isRequired={saml === undefined}
      />
      <Field
        label={words.newer}
        name="newer"
        help={words.newerHelp}
        defaultValue={saml?.metadata_url ?? ''}
        validate={checkAddress}
      />
      <Field
        label={words.base}
        name="base"
        help={words.baseHelp}
        defaultValue={base}
        validate={checkAddress}
        isRequired
      />
      <Field
        label={words.returnUrl}
        name="back"
        help={words.returnUrlHelp}
        defaultValue={saml?.default_return_url ?? ''}
        validate={checkAddress}
      />
      <Field
        label={words.returns}
        name="origins"
        isLong
        help={words.returnsHelp}
        defaultValue={origins.filter((origin) => origin !== loopbackOrigin).join('\n')}
      />
      <Check name="terminal" label={words.terminal} isSelected={origins.includes(loopbackOrigin)} />
      <Field
        label={words.subjectAttribute}
        name="subject"
        help={words.subjectHelp}
        defaultValue={saml?.subject_attribute ?? ''}
      />
      <Field label={words.roleAttribute} name="roles" defaultValue={saml?.role_attribute ?? ''} />
      <Field
        label={words.claims}
        name="claims"
        isLong
        help={words.claimsHelp}
        defaultValue={claims.join('\n')}
        validate={(text) => (areClaims(text) ? null : words.claimsHelp)}
      />
      {saml !== undefined && <Check name="same" label={words.same} />}
    </>
  )
}
