import { auth } from '../../../api.ts'
import { CommandCode } from '../../../parts/act-form.tsx'
import { toCommand } from '../../../parts/command.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { CopyButton } from '../../../parts/copy.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { showToast } from '../../../parts/toasts.tsx'
import type { RoomProps } from '../../../room.ts'
import { texts } from '../../../texts.ts'
import { RealmFrame, useIsSuper } from './frame.tsx'
import { type Realm, readParams } from './realm.ts'
import { readSaml, type StoredSaml } from './saml-params.ts'
import { SamlSetup } from './saml-setup.tsx'
import { SamlTest } from './saml-test.tsx'

const words = texts.saml

/** SAML of a realm: what to enter at the identity provider, the settings, and the dry run of a response. */
export function Room({ path }: RoomProps) {
  const isSuper = useIsSuper()
  return (
    <RealmFrame path={path} view="saml">
      {(realm) => {
        const saml = readSaml(realm)
        return (
          <>
            {saml === undefined ? (
              <Empty title={words.none}>
                <p>{isSuper ? words.noneHelp : texts.realms.onlySuper}</p>
              </Empty>
            ) : (
              <>
                <Values realm={realm.id} saml={saml} />
                <SamlTest realm={realm.id} />
              </>
            )}
            {isSuper && <SamlSetup realm={realm} saml={saml} />}
            {isSuper && saml !== undefined && <Stop realm={realm} />}
          </>
        )
      }}
    </RealmFrame>
  )
}

/** Values to enter at the identity provider. */
function Values({ realm, saml }: { readonly realm: string; readonly saml: StoredSaml }) {
  const base = saml.sp_acs_url.replace(/\/acs$/, '')
  const toEnter: readonly (readonly [string, string])[] = [
    [words.metadata, `${base}/metadata`],
    [words.entityId, saml.sp_entity_id],
    [words.acs, saml.sp_acs_url],
    ...(saml.idp_slo_url === undefined ? [] : ([[words.logout, `${base}/slo`]] as const)),
  ]
  const rules: readonly (readonly [string, string])[] = [
    [words.requests, words.requestsRule],
    [words.responses, words.responsesRule],
    [words.nameId, saml.idp_nameid_format ?? words.anyNameId],
    [words.subjectAttribute, saml.subject_attribute ?? words.nameIdIsSubject],
    [words.roleAttribute, saml.role_attribute ?? words.noAttribute],
    ...Object.entries(saml.attribute_claim_map ?? {}).map(
      ([attribute, claim]) => [words.attribute, words.asClaim(attribute, claim)] as const,
    ),
    [words.returns, (saml.allowed_return_origins ?? []).join(', ')],
    [words.returnUrl, saml.default_return_url],
    [words.newer, saml.metadata_url ?? words.notFetched],
  ]
  return (
    <section aria-labelledby="enter">
      <h2 id="enter">
        <bdi>{words.enter(saml.idp_entity_id)}</bdi>
      </h2>
      <dl className="facts">
        {toEnter.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className="actions">
              <code>{value}</code>
              <CopyButton text={value} label={words.copy(name)} />
            </dd>
          </div>
        ))}
        {rules.map(([name, value]) => (
          <div key={name + value} className="fact">
            <dt>{name}</dt>
            <dd>
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
      <CommandCode command={toCommand('warder admin saml show', [realm])} />
    </section>
  )
}

function Stop({ realm }: { readonly realm: Realm }) {
  const replace = auth.useAct('realms.replace')
  const { id, auth_params: _, ...ages } = realm
  return (
    <section className="part" aria-labelledby="stop-saml">
      <h2 id="stop-saml">{words.stop}</h2>
      <Confirm
        verb={words.stop}
        title={words.stopTitle(id)}
        onConfirm={async () => {
          const body = { ...ages, auth_params: { ...readParams(realm), saml_params: null } }
          await replace.mutateAsync({ path: { realm_id: id }, body })
          showToast(words.stopped)
        }}
      >
        <p>{words.stopEnds}</p>
        <CommandCode command={toCommand('warder admin change-realm', [id], { 'no-login': 'saml' })} />
      </Confirm>
    </section>
  )
}
