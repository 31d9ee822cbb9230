import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { createMasterVerb, createUserVerb } from './abe-create.ts'
import { rotationVerbs } from './abe-rotate.ts'
import { showStructureVerb } from './abe-show.ts'
import { aliasVerb } from './alias.ts'
import { createKeyVerb, importKeyVerb } from './create.ts'
import { destroyKeysVerb } from './destroy.ts'
import { hsmWrappingVerb, listHsmKeysVerb, registerHsmKeyVerb } from './hsm.ts'
import { disableKeysVerb, enableKeysVerb, restoreKeysVerb, setDatesVerb } from './life.ts'
import { listKeysVerb } from './list.ts'
import { setRotationVerb } from './rotation.ts'
import { showKeyVerb } from './show.ts'
import { addTagsVerb, removeTagsVerb } from './tags.ts'
import { keyVersionsVerb, rotateKeyVerb, versionVerbs } from './versions.ts'

export const keysParts: KmsCommandParts = {
  name: 'keys',
  summary: 'Create, import, list, tag, rotate, disable and destroy keys',
  about:
    'Manages keys. They are created and stored in the key management service; key material is never shown.',
  verbs: [
    createKeyVerb,
    importKeyVerb,
    listKeysVerb,
    showKeyVerb,
    addTagsVerb,
    removeTagsVerb,
    aliasVerb,
    rotateKeyVerb,
    keyVersionsVerb,
    ...versionVerbs,
    setRotationVerb,
    setDatesVerb,
    disableKeysVerb,
    enableKeysVerb,
    destroyKeysVerb,
    restoreKeysVerb,
    listHsmKeysVerb,
    registerHsmKeyVerb,
    hsmWrappingVerb,
    createMasterVerb,
    createUserVerb,
    showStructureVerb,
    ...rotationVerbs,
  ],
  example: `  warder keys create --alg A256GCM --tag backup
  warder keys list --expiring 30d
  warder keys show KEY
  warder keys create --alg ES256 --json | jq -r .kid`,
}

export const keys = kmsCommand(keysParts)
