import { onPostgresql } from '@warder/kmip-server/testing'

onPostgresql('ACME', ['../authority/acme/acme', '../authority/acme/resources', '../authority/acme/attacks'])
